/*
 * svg.c - the loss curve as a file that any browser shows: axes, ticks, the loss of each step as a
 * pale line, and its running mean as a strong one.
 */
#include "svg.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 800, HEIGHT = 480, LEFT = 70, RIGHT = 24, TOP = 56, BOTTOM = 60, MAX_POINTS = 700 };

static const char STEP_STYLE[] = "stroke=\"#a9c7e8\" stroke-width=\"1.5\"";
static const char MEAN_STYLE[] =
    "stroke=\"#1f5fa8\" stroke-width=\"2.5\" stroke-linejoin=\"round\" stroke-linecap=\"round\"";

/* Maps steps and losses to the picture. */
struct plot {
    FILE *out;
    const float *losses;
    long n;
    double high; /* of the vertical axis, which starts at 0 */
};

static double x_of(const struct plot *p, double step)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * step / (double)p->n;
}

static double y_of(const struct plot *p, double loss)
{
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * loss / p->high;
}

/* 1, 2 or 5 times a power of ten, so that `range` has at most `most` of it. */
static double tick_choose(double range, int most)
{
    double power = pow(10, floor(log10(range / most)));
    double ratio = range / most / power;
    return power * (ratio <= 1 ? 1 : ratio <= 2 ? 2 : ratio <= 5 ? 5 : 10);
}

static void grid_draw(const struct plot *p)
{
    double step = fmax(1, tick_choose((double)p->n, 8)), loss = tick_choose(p->high, 7);
    fprintf(p->out, "<g stroke=\"#dddddd\" fill=\"#444444\" font-size=\"13\">\n");
    for (int i = 0; i * loss <= p->high + loss / 1e3; i++) {
        double y = i * loss;
        fprintf(p->out, "<path d=\"M%d %.1fH%d\"/>", LEFT, y_of(p, y), WIDTH - RIGHT);
        fprintf(p->out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" stroke=\"none\">%g</text>\n",
                LEFT - 8, y_of(p, y) + 4.5, y);
    }
    for (int i = 0; i * step <= (double)p->n; i++) {
        double x = i * step;
        fprintf(p->out, "<path d=\"M%.1f %dV%d\"/>", x_of(p, x), TOP, HEIGHT - BOTTOM);
        fprintf(p->out,
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" stroke=\"none\">%.0f</text>\n",
                x_of(p, x), HEIGHT - BOTTOM + 20, x);
    }
    fprintf(p->out, "</g>\n<path d=\"M%d %dV%dH%d\" stroke=\"#444444\" fill=\"none\"/>\n", LEFT,
            TOP, HEIGHT - BOTTOM, WIDTH - RIGHT);
}

static void text_escape(FILE *out, const char *text)
{
    for (; *text; text++)
        if (*text == '<' || *text == '>' || *text == '&')
            fprintf(out, "&#%d;", *text);
        else
            fputc(*text, out);
}

static void words_draw(const struct plot *p, const char *title)
{
    fprintf(p->out, "<text x=\"%d\" y=\"30\" font-size=\"17\" fill=\"#222222\">", LEFT);
    text_escape(p->out, title);
    fprintf(p->out, "</text>\n<g font-size=\"14\" fill=\"#222222\" text-anchor=\"middle\">");
    fprintf(p->out, "<text x=\"%d\" y=\"%d\">step</text>", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16);
    fprintf(p->out,
            "<text transform=\"translate(22 %d) rotate(-90)\">loss (nats per byte)</text></g>\n",
            (TOP + HEIGHT - BOTTOM) / 2);
}

static void legend_draw(const struct plot *p)
{
    int x = WIDTH - RIGHT - 150;
    fprintf(p->out, "<path d=\"M%d %dh30\" %s/><path d=\"M%d %dh30\" %s/>\n", x, TOP + 20,
            STEP_STYLE, x, TOP + 42, MEAN_STYLE);
    fprintf(p->out,
            "<g font-size=\"14\" fill=\"#222222\"><text x=\"%d\" y=\"%d\">one step</text>"
            "<text x=\"%d\" y=\"%d\">running mean</text></g>\n",
            x + 38, TOP + 25, x + 38, TOP + 47);
}

/* The mean of the losses within `reach` steps of step number `at`, counted from 0. */
static double mean_near(const struct plot *p, long at, long reach)
{
    long from = at > reach ? at - reach : 0, to = at + reach < p->n ? at + reach : p->n - 1;
    double sum = 0;
    for (long i = from; i <= to; i++)
        sum += (double)p->losses[i];
    return sum / (double)(to - from + 1);
}

/* At most MAX_POINTS points; a point stands for all steps around it, so `reach` grows with n. At
 * least two, because a line of one point is not drawn. */
static void curve_draw(const struct plot *p, long reach, const char *style)
{
    long points = p->n < 2 ? 2 : p->n < MAX_POINTS ? p->n : MAX_POINTS;
    fprintf(p->out, "<polyline fill=\"none\" %s points=\"", style);
    for (long i = 0; i < points; i++) {
        long at = i * (p->n - 1) / (points - 1);
        fprintf(p->out, "%.1f,%.1f ", x_of(p, (double)at + 1), y_of(p, mean_near(p, at, reach)));
    }
    fprintf(p->out, "\"/>\n");
}

int svg_write(const char *path, const char *title, const float *losses, long n)
{
    struct plot p = {fopen(path, "w"), losses, n, 1};
    if (!p.out)
        return -1;
    for (long i = 0; i < n; i++)
        p.high = fmax(p.high, ceil((double)losses[i] * 2) / 2);
    fprintf(p.out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" font-family=\"sans-serif\">\n<rect width=\"%d\" height=\"%d\" "
            "fill=\"white\"/>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
    grid_draw(&p);
    words_draw(&p, title);
    legend_draw(&p);
    curve_draw(&p, n / (2 * MAX_POINTS), STEP_STYLE);
    curve_draw(&p, n / 60, MEAN_STYLE);
    fprintf(p.out, "</svg>\n");
    int failed = ferror(p.out);
    return fclose(p.out) || failed ? -1 : 0;
}
