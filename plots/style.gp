# Shared by all plots. The values of the picture are set above: plot_type, plot_output, plot_data,
# plot_title, plot_input, plot_machine, the arrays of its series, and variables of the plot.
set encoding utf8
set datafile separator comma
is_text = plot_type eq 'txt'
is_svg = plot_type eq 'svg'
# Sizes of letters and points. SVG measures letters in pixels, and draws points larger.
large = is_svg ? ',16' : ',13'
small = is_svg ? ',11' : ',9'
tiny = is_svg ? ',10' : ',8'
mark = is_svg ? 0.72 : 1.0
letter = 6.6 # width of a small letter in pixels
soft = '#404040'

# Opens a picture of w times h pixels: `eval open(w, h)`. On a terminal the picture has 79 columns, a
# line for each 22 pixels, and the legend below.
open(w, h) = sprintf('plot_width = %d.0; plot_height = %d.0; ', w, h) \
    .(plot_type eq 'png' ? sprintf("set terminal pngcairo noenhanced size %d,%d font 'sans,11' fontscale 2 linewidth 2 pointscale 2 background rgb 'white'", 2 * w, 2 * h) \
    : plot_type eq 'svg' ? sprintf("set terminal svg noenhanced size %d,%d dynamic font 'sans,13' linewidth 1.3 background rgb 'white'", w, h) \
    : plot_type eq 'pdf' ? sprintf("set terminal pdfcairo noenhanced size %f,%f font 'sans,8' linewidth 1.2 pointscale 0.6 background rgb 'white'", w / 130.0, h / 130.0) \
    : sprintf('set terminal dumb noenhanced size 79,%d mono', h / 22 + text_key)).'; set output plot_output; '.(is_text ? text_heading : heading)
# Three lines above the picture: the title, what was read, the machine. A terminal has only one line
# (text_heading).
heading = "set label 1001 plot_title at screen 15 / plot_width, screen 1 - 22 / plot_height left front font large;" \
    ."set label 1002 plot_input at screen 15 / plot_width, screen 1 - 44 / plot_height left front textcolor rgb soft;" \
    ."set label 1003 plot_machine at screen 15 / plot_width, screen 1 - 63 / plot_height left front textcolor rgb soft;" \
    ."set tmargin at screen 1 - 88 / plot_height"
# On a terminal a plot may have a picture for each group of errors; the heading names the group.
group = ''
text_heading = "title_line = group eq '' ? plot_title.': '.plot_input : group.': '.plot_title; set label 1001 title_line[1:77] at character 1, screen 1 left front offset 0, -1; set tmargin 2"
close_heading = 'unset label 1001; unset label 1002; unset label 1003;'
# Puts the picture between these distances from the edges, in pixels: `eval box(left, right, top,
# bottom)`.
box(l, r, t, b) = is_text ? '' : sprintf('set lmargin at screen %f; set rmargin at screen %f; set tmargin at screen %f; set bmargin at screen %f', \
    l / plot_width, 1 - r / plot_width, 1 - t / plot_height, b / plot_height)
# A line below the picture, at the right.
note(text) = is_text ? '' : sprintf("set label 1004 '%s' at screen 1 - 12 / plot_width, screen 12 / plot_height right font small textcolor rgb soft", text)

# Series i has line style i. On a terminal its marks are letters. Series without a name are grey and
# have line style 1000.
do for [i = 1:named] {
    set style line i linecolor rgb colour[i] pointtype (is_text ? (i - 1) % 26 + 1 : int(point[i])) \
        linewidth 1.5 pointsize mark dashtype int(dash[i])
}
set style line 1000 linecolor rgb '#d8d8d8' linewidth 1 pointtype (is_text ? 27 : 7) pointsize 0.5*mark
greys = series > named # 1 if grey series are drawn, otherwise 0: gnuplot warns of a curve without points
widest = 0
do for [i = 1:(named > 0 ? named : series)] { if (strlen(label[i]) > widest) { widest = strlen(label[i]) } }
grey = series > named ? sprintf('grey: %d more', series - named) : ''
legend_width = 60 + (is_svg ? 7.4 : 7.9) * (widest > 14 ? widest : 14)
text_key = is_text && named > 0 ? (widest > 34 ? named + 1 : (named + 2) / 2) : 0
set key outside right top vertical Left reverse samplen 1 spacing 1.15 noautotitle
if (is_text) {
    if (widest > 34) { set key bottom center outside horizontal maxcols 1 } else { set key bottom center outside horizontal maxcols 2 }
}
# Entries of the legend, to end a plot command: `@legend`.
legend = 'for [k = 1:named] keyentry with points linestyle k title label[k], for [k = 1:greys] keyentry with points linestyle 1000 title grey'
# The curves of all series, with the grey ones behind the others: `eval 'plot '.curves(x, y,
# 'lines').', '.legend`. x and y are expressions of columns.
row_of(k) = column("series") == k
is_grey(x) = column("series") > named
curves(x, y, how) = sprintf('for [g = 1:greys] plot_data using (is_grey(0) ? %s : NaN):(%s) with %s linestyle 1000, for [k = 1:named] plot_data using (row_of(named + 1 - k) ? %s : NaN):(%s) with %s linestyle named + 1 - k', x, y, how, x, y, how)

# A word of a list as a number; 1 for an empty word, because gnuplot evaluates a loop's expressions
# once even if its list is empty.
at(k) = k eq '' ? 1 : int(k)
# True if this cell of the data is a number. column() of another cell would drop the whole row.
has(name) = strcol(name) ne 'NaN'
or_else(name, x) = has(name) ? column(name) : x
# Finds the least and the largest value in the rows for which `wanted` is true: `eval extent('x',
# 'column("bits")', '1')` sets x_low and x_high. Call it before the ranges of axes are set, because
# stats leaves out values outside of them.
extent(name, value, wanted) = sprintf('%s_low = 1e300; %s_high = -1e300; stats plot_data using (v = %s, w = (%s) && v == v, ', name, name, value, wanted) \
    .sprintf('%s_low = w && v < %s_low ? v : %s_low, %s_high = w && v > %s_high ? v : %s_high, 1) nooutput', name, name, name, name, name, name)

# Shortens a text to n characters.
short(text, n) = strlen(text) > n ? text[1:n / 2 - 1].'..'.text[strlen(text) - n / 2 + 2:*] : text
# The name of a row in a chart of rows, with more words after it.
row_name(more) = short(label[int(column("series"))], is_text ? 32 : 60).more
# Numbers as people write them.
seconds_text(x) = x >= 0.9999 ? sprintf('%g s', x) : x >= 0.9999e-3 ? sprintf('%g ms', 1e3 * x) : x >= 0.9999e-6 ? sprintf('%g us', 1e6 * x) : sprintf('%g ns', 1e9 * x)
bytes_text(x) = x >= 0.9999e12 ? sprintf('%g TB', x / 1e12) : x >= 0.9999e9 ? sprintf('%g GB', x / 1e9) : x >= 0.9999e6 ? sprintf('%g MB', x / 1e6) : sprintf('%g kB', x / 1e3)
link_text(x) = x >= 0.9999e3 ? sprintf('%g Tb/s', x / 1e3) : x >= 0.9999 ? sprintf('%g Gb/s', x) : sprintf('%g Mb/s', 1e3 * x)
error_text(x) = x != x ? '?' : x < 0.0005 ? '0' : x < 0.1 ? sprintf('%.3f', x) : x < 99 ? sprintf('%.2f', x) : sprintf('%.0f', x)
digits(x) = x >= 99.95 ? sprintf('%.0f', x) : x < 0.001 ? sprintf('%.1e', x) : sprintf('%#.3g', x)
tic_text(x, unit) = unit eq 's' ? seconds_text(x) : unit eq 'B' ? bytes_text(x) : unit eq 'b/s' ? link_text(x) : sprintf('%g', x)

# The ends of an axis with room around the data: logarithmic, and linear.
log_low(a, b) = a / (b / a) ** 0.06 / 1.05
log_high(a, b) = b * (b / a) ** 0.06 * 1.05
low(a, b) = a - 0.06 * (b - a) - (a == b ? abs(a) * 0.1 + 1e-30 : 0)
high(a, b) = b + 0.06 * (b - a) + (a == b ? abs(a) * 0.1 + 1e-30 : 0)
# A logarithmic axis with tics at round values: `eval log_axis('x', low, high, unit)`.
tic(x, a, b, unit) = x < a * 0.9999 || x > b * 1.0001 ? '' : sprintf(", '%s' %.8g", tic_text(x, unit), x)
decade(e, which, i, a, b, unit) = i > words(which) ? '' : tic(word(which, i) * 10.0 ** e, a, b, unit).decade(e, which, i + 1, a, b, unit)
tics(e, step, which, a, b, unit) = e > log10(b) ? '' : decade(e, which, 1, a, b, unit).tics(e + step, step, which, a, b, unit)
which_digits(d) = d < 0.35 ? '1 1.1 1.2 1.3 1.4 1.5 1.6 1.8 2 2.2 2.5 2.8 3 3.3 3.6 4 4.5 5 5.5 6 6.5 7 8 9' : d < 0.8 ? '1 1.5 2 3 4 5 7' : d < 1.3 ? '1 2 3 5' : d < 2.4 ? '1 2 5' : d < 4 ? '1 3' : '1'
tic_step(d) = d > 8 ? ceil(d / 7) : 1
tic_list(a, b, unit) = tics(floor(floor(log10(a)) / tic_step(log10(b / a))) * tic_step(log10(b / a)), tic_step(log10(b / a)), which_digits(log10(b / a)), a, b, unit)
tic_places(list) = list eq '' ? 'auto' : '('.list[3:*].')'
log_axis(axis, a, b, unit) = sprintf('set logscale %s; set %srange [%.9g:%.9g]; set %stics %s', axis, axis, a, b, axis, tic_places(tic_list(a, b, unit)))
# Workers are powers of two.
two_axis(axis, a, b) = sprintf('set logscale %s 2; set %srange [%.9g:%.9g]; set %stics (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)', axis, axis, a, b, axis)

# Spreads n labels at the heights h[1] to h[n], shares of a panel's height, so that they are `gap`
# apart: `eval spread`.
spread = 'array o[n]; do for [i = 1:n] { o[i] = i };' \
    .'do for [i = 1:n - 1] { do for [j = i + 1:n] { if (h[o[j]] > h[o[i]]) { t = o[i]; o[i] = o[j]; o[j] = t } } };' \
    .'do for [i = 2:n] { if (h[o[i]] > h[o[i - 1]] - gap) { h[o[i]] = h[o[i - 1]] - gap } };' \
    .'if (n > 0) { if (h[o[n]] < 0) { h[o[n]] = 0 } };' \
    .'do for [j = 1:n - 1] { i = n - j; if (h[o[i]] < h[o[i + 1]] + gap) { h[o[i]] = h[o[i + 1]] + gap } }'

# Errors on a logarithmic axis. Strips at the ends of the axis show errors of 0, baselines far below
# the other methods, and very large errors; no line leads into a strip. `eval find_strips` sets the
# ends of the axis, error_low and error_high; then place(error) is the place on the axis.
find_strips = "eval extent('inner', 'column(\"rel_l2\")', 'v > 0 && v <= 2 && column(\"baseline\") == 0');" \
    ."if (inner_low > inner_high) { eval extent('inner', 'column(\"rel_l2\")', 'v > 0') };" \
    ."if (inner_low > inner_high) { inner_low = 0.1; inner_high = 1 };" \
    ."eval extent('wider', 'column(\"rel_l2\")', 'v >= inner_low / 30 && v <= 2');" \
    ."if (wider_low <= wider_high) { inner_low = wider_low < inner_low ? wider_low : inner_low; inner_high = wider_high > inner_high ? wider_high : inner_high };" \
    ."eval extent('all', 'column(\"rel_l2\")', '1');" \
    ."strip_low = log_low(inner_low, inner_high); strip_high = log_high(inner_low, inner_high); strip = (strip_high / strip_low) ** 0.09;" \
    ."error_low = all_low < strip_low ? strip_low / strip : strip_low; error_high = all_high > strip_high ? strip_high * strip : strip_high"
inside(e) = e >= strip_low && e <= strip_high
place(e) = e < strip_low ? strip_low / sqrt(strip) : e > strip_high ? strip_high * sqrt(strip) : e
strip_edge(axis, e) = axis eq 'y' ? sprintf('set arrow from graph 0, first %g to graph 1, first %g nohead back linecolor rgb "#909090" dashtype 3;', e, e) \
    : sprintf('set arrow from first %g, graph 0 to first %g, graph 1 nohead back linecolor rgb "#909090" dashtype 3;', e, e)
strips(axis) = (all_low < strip_low ? strip_edge(axis, strip_low).sprintf("set %stics add ('< %.1g' %g);", axis, strip_low, strip_low / sqrt(strip)) : '') \
    .(all_high > strip_high ? strip_edge(axis, strip_high).sprintf("set %stics add ('> %.1g' %g);", axis, strip_high, strip_high * sqrt(strip)) : '')
# Adds the error to the label of each series that lies in a strip.
name_strips = "array least[series > 0 ? series : 1]; do for [i = 1:series] { least[i] = 1e300 };" \
    ."stats plot_data using (i = int(column(\"series\")), least[i] = column(\"rel_l2\") < least[i] ? column(\"rel_l2\") : least[i], 1) nooutput;" \
    ."do for [i = 1:named] { if (members[i] == 1 && !inside(least[i])) { label[i] = label[i].(least[i] == 0 ? ', exact' : sprintf(', error %.2g', least[i])) } }"

set border 3 linecolor rgb '#404040' linewidth 0.8
set tics nomirror out scale 0.6
set grid linecolor rgb '#d0d0d0' linewidth 0.7 dashtype solid
if (is_text) unset grid
