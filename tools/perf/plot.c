/*
 * plot.c - an SVG with two logarithmic plots over the size: time, and bus bandwidth. One line for
 * each operation, type, operator and root; in place is dashed. No scripts and no fonts of its own,
 * so that any browser and README shows it.
 */
#include "perf.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 1080, PLOT_WIDTH = 430, PLOT_HEIGHT = 320, TOP = 70, LEFT = 80, NEXT = 540 };
enum { LEGEND_ROW = 20, LEGEND_COLUMNS = 3 };

struct range {
    double min, max;
};

struct axes {
    double left, top;
    struct range x, y;
    double (*value)(const struct figures *figures);
    const char *title, *unit;
};

static double time_of(const struct figures *figures)
{
    return figures->us;
}
static double bus_of(const struct figures *figures)
{
    return figures->bus;
}

static const char *colour_of(size_t series)
{
    static const char *const colours[] = {"#1f5fa8", "#d1495b", "#2a8c55", "#b8860b", "#7b4fa3",
                                          "#0f8b8d", "#c05621", "#4a5568", "#9b2c77", "#5f7f1f"};
    return colours[series % (sizeof(colours) / sizeof(colours[0]))];
}

static bool same_series(const struct line *a, const struct line *b)
{
    return a->op == b->op && !strcmp(a->type, b->type) && !strcmp(a->redop, b->redop) &&
           a->root == b->root;
}

/* Whether a line has a place on logarithmic axes. */
static bool drawable(const struct line *line, const struct figures *figures,
                     const struct axes *axes)
{
    return line->size && figures->there && axes->value(figures) > 0;
}

static void widen(struct range *range, double value)
{
    range->min = value < range->min ? value : range->min;
    range->max = value > range->max ? value : range->max;
}

static void find_ranges(struct axes *axes, const struct lines *lines)
{
    axes->x = axes->y = (struct range){INFINITY, 0};
    for (size_t i = 0; i < lines->count; i++) {
        const struct line *line = &lines->line[i];
        const struct figures *halves[] = {&line->out, &line->in};
        for (int half = 0; half < 2; half++)
            if (drawable(line, halves[half], axes)) {
                widen(&axes->x, (double)line->size);
                widen(&axes->y, axes->value(halves[half]));
            }
    }
    if (axes->x.max <= 0) /* nothing to draw: empty axes */
        axes->x = axes->y = (struct range){1, 10};
    if (axes->x.min == axes->x.max)
        axes->x = (struct range){axes->x.min / 2, axes->x.max * 2};
    axes->y.min = pow(10, floor(log10(axes->y.min) + 1e-9));
    axes->y.max = pow(10, ceil(log10(axes->y.max) - 1e-9));
    if (axes->y.min == axes->y.max)
        axes->y.max *= 10;
}

static double share(const struct range *range, double value)
{
    return log(value / range->min) / log(range->max / range->min);
}

static double x_at(const struct axes *axes, double size)
{
    return axes->left + PLOT_WIDTH * share(&axes->x, size);
}

static double y_at(const struct axes *axes, double value)
{
    return axes->top + PLOT_HEIGHT * (1 - share(&axes->y, value));
}

static void draw_x_ticks(FILE *file, const struct axes *axes)
{
    int first = (int)ceil(log2(axes->x.min) - 1e-9), last = (int)floor(log2(axes->x.max) + 1e-9);
    int every = (last - first) / 7 + 1;
    for (int power = first; power <= last; power += every) {
        double x = x_at(axes, ldexp(1, power));
        fprintf(file, "<path d=\"M%.1f %.0fv%d\"/>", x, axes->top, PLOT_HEIGHT);
        fprintf(file,
                "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\" stroke=\"none\">%s</text>\n", x,
                axes->top + PLOT_HEIGHT + 18, word_bytes((size_t)ldexp(1, power)));
    }
}

static void draw_y_ticks(FILE *file, const struct axes *axes)
{
    for (double decade = axes->y.min; decade <= axes->y.max * 1.001; decade *= 10)
        for (int digit = 1; digit < 10 && decade * digit <= axes->y.max * 1.001; digit++) {
            double y = y_at(axes, decade * digit);
            fprintf(file, "<path d=\"M%.0f %.1fh%d\" stroke=\"%s\"/>", axes->left, y, PLOT_WIDTH,
                    digit == 1 ? "#cccccc" : "#f0f0f0");
            if (digit == 1)
                fprintf(file,
                        "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\" stroke=\"none\">%g"
                        "</text>\n",
                        axes->left - 8, y + 4, decade);
        }
}

static void draw_axes(FILE *file, const struct axes *axes)
{
    double middle_x = axes->left + PLOT_WIDTH / 2.0, middle_y = axes->top + PLOT_HEIGHT / 2.0;
    fprintf(file, "<g stroke=\"#dddddd\" fill=\"#444444\" font-size=\"12\">\n");
    draw_y_ticks(file, axes);
    draw_x_ticks(file, axes);
    fprintf(file, "</g>\n<path d=\"M%.0f %.0fv%dh%d\" stroke=\"#444444\" fill=\"none\"/>\n",
            axes->left, axes->top, PLOT_HEIGHT, PLOT_WIDTH);
    fprintf(file,
            "<g font-size=\"14\" fill=\"#222222\" text-anchor=\"middle\">"
            "<text x=\"%.0f\" y=\"%.0f\" font-size=\"15\">%s</text>"
            "<text x=\"%.0f\" y=\"%.0f\">size</text>"
            "<text transform=\"translate(%.0f %.0f) rotate(-90)\">%s</text></g>\n",
            middle_x, axes->top - 12, axes->title, middle_x, axes->top + PLOT_HEIGHT + 40,
            axes->left - 56, middle_y, axes->unit);
}

static void draw_series(FILE *file, const struct axes *axes, const struct lines *lines,
                        size_t first, size_t series, bool in_place)
{
    const char *colour = colour_of(series);
    fprintf(file, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s points=\"", colour,
            in_place ? " stroke-dasharray=\"5 4\"" : "");
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = first; i < lines->count; i++) {
            const struct line *line = &lines->line[i];
            const struct figures *figures = in_place ? &line->in : &line->out;
            if (!same_series(line, &lines->line[first]) || !drawable(line, figures, axes))
                continue;
            fprintf(file, pass ? "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"/>" : "%.1f,%.1f ",
                    x_at(axes, (double)line->size), y_at(axes, axes->value(figures)));
        }
        if (pass)
            fprintf(file, "</g>\n");
        else
            fprintf(file, "\"/>\n<g fill=\"%s\">", colour);
    }
}

static void draw_legend(FILE *file, const struct line *line, size_t series)
{
    size_t row = series / LEGEND_COLUMNS, column = series % LEGEND_COLUMNS;
    double x = LEFT + (double)column * 330;
    double y = TOP + PLOT_HEIGHT + 72 + (double)row * LEGEND_ROW;
    fprintf(file, "<path d=\"M%.0f %.0fh26\" stroke=\"%s\" stroke-width=\"2.5\"/>", x, y,
            colour_of(series));
    fprintf(file, "<text x=\"%.0f\" y=\"%.0f\">%s %s", x + 34, y + 4.5, line->op->name, line->type);
    if (strcmp(line->redop, "none") != 0)
        fprintf(file, " %s", line->redop);
    if (line->root >= 0)
        fprintf(file, " root %d", line->root);
    fprintf(file, "</text>\n");
}

/* Calls draw for the first line of each series; returns their number. */
static size_t for_each_series(const struct lines *lines,
                              void (*draw)(void *context, size_t first, size_t series),
                              void *context)
{
    size_t count = 0;
    for (size_t i = 0; i < lines->count; i++) {
        size_t before = 0;
        while (before < i && !same_series(&lines->line[before], &lines->line[i]))
            before++;
        if (before == i && draw)
            draw(context, i, count);
        count += before == i;
    }
    return count;
}

struct drawing {
    FILE *file;
    const struct lines *lines;
    const struct axes *axes;
    bool legend;
};

static void draw_one(void *context, size_t first, size_t series)
{
    const struct drawing *drawing = context;
    if (drawing->legend) {
        draw_legend(drawing->file, &drawing->lines->line[first], series);
        return;
    }
    draw_series(drawing->file, drawing->axes, drawing->lines, first, series, false);
    if (drawing->lines->line[first].in.there)
        draw_series(drawing->file, drawing->axes, drawing->lines, first, series, true);
}

static void draw_all(FILE *file, const struct run *run)
{
    struct axes plots[] = {
        {.left = LEFT, .top = TOP, .value = time_of, .title = "time", .unit = "microseconds"},
        {.left = NEXT + LEFT,
         .top = TOP,
         .value = bus_of,
         .title = "bus bandwidth",
         .unit = "GB/s"}};
    struct drawing drawing = {.file = file, .lines = &run->lines};
    for (int i = 0; i < 2; i++) {
        find_ranges(&plots[i], &run->lines);
        draw_axes(file, &plots[i]);
        drawing.axes = &plots[i];
        for_each_series(&run->lines, draw_one, &drawing);
    }
    drawing.legend = true;
    fprintf(file, "<g font-size=\"14\" fill=\"#222222\">\n");
    for_each_series(&run->lines, draw_one, &drawing);
    fprintf(file, "</g>\n");
}

bool plot_write(const struct run *run)
{
    FILE *file = fopen(run->options->plot, "w");
    if (!file)
        return false;
    size_t rows = (for_each_series(&run->lines, NULL, NULL) + LEGEND_COLUMNS - 1) / LEGEND_COLUMNS;
    size_t height = TOP + PLOT_HEIGHT + 72 + rows * LEGEND_ROW;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %zu\" width=\"%d\" "
            "height=\"%zu\" font-family=\"sans-serif\">\n<rect width=\"%d\" height=\"%zu\" "
            "fill=\"white\"/>\n",
            WIDTH, height, WIDTH, height, WIDTH, height);
    fprintf(file,
            "<text x=\"%d\" y=\"28\" font-size=\"17\" fill=\"#222222\">nvs-perf on %d PE%s; in "
            "place is dashed</text>\n",
            LEFT, run->npes, run->npes == 1 ? "" : "s");
    draw_all(file, run);
    fprintf(file, "</svg>\n");
    bool failed_to_write = ferror(file);
    return fclose(file) == 0 && !failed_to_write;
}
