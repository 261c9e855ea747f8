/*
 * svg.h - draws the loss curve.
 */
#ifndef GPT_SVG_H
#define GPT_SVG_H

/* Writes the losses of steps 1 .. n as a picture. `title` is plain text. Returns 0, or -1 with
 * errno. */
int svg_write(const char *path, const char *title, const float *losses, long n);

#endif
