/*
 * report.h - what PE 0 tells while it trains.
 */
#ifndef GPT_REPORT_H
#define GPT_REPORT_H

#include <stdbool.h>

/* Where a run stands. */
struct progress {
    long step;           /* steps done */
    double loss;         /* of the latest step */
    double tokens;       /* bytes that all PEs together have learnt from */
    double seconds;      /* since training began */
    double comm_seconds; /* of these, while gradients were added up, waiting included */
    bool overlapped;     /* adding up goes on beside computing, and this part of it alone: */
    double exposed_seconds;
};

/* Whether lines may be rewritten in place, and when the last one was. */
struct reporter {
    bool terminal;
    double printed_seconds;
    long printed_step;
};

void reporter_init(struct reporter *r);

/* On a terminal a line that rewrites itself, up to ten times a second; elsewhere one line after the
 * first step and after every 50. `last`: print in any case. */
void reporter_step(struct reporter *r, const struct progress *p, bool last);

/* Seconds of a clock that never goes back. */
double clock_seconds(void);

#endif
