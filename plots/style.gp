# Shared by all plots. The variables of the picture are set before this script: plot_type, plot_output, plot_data,
# plot_title, plot_file, plot_machine, and the plot's own.
set encoding utf8
if (!exists('plot_width')) plot_width = 900
if (!exists('plot_height')) plot_height = 560
is_text = plot_type eq 'txt'
if (plot_type eq 'png') set terminal pngcairo noenhanced size 2*plot_width,2*plot_height font 'sans,11' fontscale 2 linewidth 2 pointscale 2 background rgb 'white'
if (plot_type eq 'svg') set terminal svg noenhanced size plot_width,plot_height dynamic font 'sans,13' linewidth 1.3 background rgb 'white'
if (plot_type eq 'pdf') set terminal pdfcairo noenhanced size plot_width/130.0,plot_height/130.0 font 'sans,8' linewidth 1.2 pointscale 0.6 background rgb 'white'
if (is_text) set terminal dumb noenhanced size 79,plot_height/20 mono
set output plot_output
# Sizes of letters and points. SVG measures letters in pixels, and draws points larger.
is_svg = plot_type eq 'svg'
large = is_svg ? ',16' : ',13'
small = is_svg ? ',11' : ',9'
tiny = is_svg ? ',10' : ',8'
least = is_svg ? ',9' : ',7'
mark = is_svg ? 0.72 : 1.0

# Colours that people with any colour vision can tell apart (Okabe and Ito, 2008; without yellow, which is too pale on
# white), with eighteen kinds of points: filled, open, and open with thick lines. A style repeats after seventy. Styles
# from 101 on are those of baselines. A terminal has letters.
colours = '#0072B2 #D55E00 #009E73 #CC79A7 #E69F00 #56B4E9 #404040'
shapes = '7 5 9 13 11 15 6 4 8 12 10 14 6 4 8 12 10 14'
shape_of(i) = i > 100 ? int(word('1 14 3', (i - 101) % 3 + 1)) : int(word(shapes, (i - 1) % 18 + 1))
weight_of(i) = i <= 100 && (i - 1) % 18 >= 12 ? 3.5 : 1.5
if (is_text) shape_of(i) = i > 100 ? 26 - (i - 101) % 26 : (i - 1) % 26 + 1
do for [i = 1:70] {
    set style line i linecolor rgb word(colours, (i - 1) % 7 + 1) pointtype shape_of(i) \
        linewidth 1.5 pointsize mark dashtype 1 + (i - 1) / 7 % 4
}
do for [i = 101:110] {
    set style line i linecolor rgb '#000000' pointtype shape_of(i) linewidth 1.5 pointsize 1.2*mark dashtype 3
}
line_of(i) = i > 100 ? i : (i - 1) % 70 + 1
# The numbers of the series with several points, which a line connects, and of those with one point, which have no line
# in the legend either.
curves = ''
singles = ''
if (exists('members')) do for [i = 1:series] {
    if (members[i] > 1) { curves = curves.sprintf(' %d', i) } else { singles = singles.sprintf(' %d', i) }
}
# A word of these lists as a number; 1 for an empty word, because gnuplot evaluates a loop's expressions once even if its
# list is empty.
at(k) = k eq '' ? 1 : int(k)
# True if this cell of the data is a number. column() of another cell would drop the whole row.
has(name) = strcol(name) ne 'NaN'
or_else(name, x) = has(name) ? column(name) : x

# Tics of a logarithmic axis of errors that spans less than two and a half decades. A very short axis has more of them.
steps_of_error = '0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5'
if (exists('error_high') && error_high < 8 * error_low) steps_of_error = '0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.5, 2, 3, 5'
# The ends of an axis with room around the data: logarithmic, and linear.
log_low(a, b) = a / (b / a) ** 0.06 / 1.05
log_high(a, b) = b * (b / a) ** 0.06 * 1.05
low(a, b) = a - 0.06 * (b - a) - (a == b ? abs(a) * 0.1 : 0)
high(a, b) = b + 0.06 * (b - a) + (a == b ? abs(a) * 0.1 : 0)

set border 3 linecolor rgb '#404040' linewidth 0.8
set tics nomirror out scale 0.6
set grid linecolor rgb '#d0d0d0' linewidth 0.7 dashtype solid
set key outside right top vertical Left reverse samplen 2.2 spacing 1.15 noautotitle
if (is_text) set key outside right top vertical Left reverse samplen 1
# Two panels side by side, with the legend on the right, in pixels: `eval panel(1)`, `eval panel(2)`.
panel(k) = sprintf('set lmargin at screen %f; set rmargin at screen %f; ', (k * 390.0 - 300) / plot_width, (k * 390.0 - 5) / plot_width).(k == 1 ? 'set key off' : sprintf('unset label 1001; unset label 1002; unset label 1003; set key on at screen %f, graph 1 left top', 790.0 / plot_width))
if (is_text) unset grid
# A grid of panels of histograms: `eval cell(p)` in a multiplot, p from 1. The first panel draws the legend.
row_of(p) = floor((p - 1) / panel_columns + 1)
column_of(p) = p - (row_of(p) - 1) * panel_columns
is_lowest(p) = p > panels - panel_columns
x_of(c) = (75.0 + c * (plot_width - 90.0) / panel_columns) / plot_width
y_of(r) = 1 - (104.0 + r * (plot_height - 155.0) / panel_rows) / plot_height
short(s) = strlen(s) > 33 ? s[1:15].'..'.s[strlen(s) - 15:strlen(s)] : s
share_text(x) = x == 0 ? 'no zeros' : x < 0.0005 ? 'zeros below 0.1 %' : sprintf('zeros %.1f %%', 100 * x)
cell(p) = sprintf('set lmargin at screen %f; set rmargin at screen %f; set tmargin at screen %f; set bmargin at screen %f; ', \
    x_of(column_of(p) - 1), x_of(column_of(p)) - 18.0 / plot_width, y_of(row_of(p) - 1), y_of(row_of(p)) + 36.0 / plot_height) \
    .(p == 1 ? 'set key at screen 1 - 12.0 / plot_width, screen 1 - 12.0 / plot_height right top; ' : 'unset key; unset label 1001; unset label 1002; unset label 1003; ') \
    .(column_of(p) == 1 ? "set format y '%g'; set ylabel 'share of values' font small; " : "set format y ''; unset ylabel; ") \
    ."set label 1 (methods > 0 ? short(label[p]) : 'gradient') at graph 0, graph 1.07 left front font small; " \
    ."set label 2 share_text(methods > 0 ? zeros[p] : input_zeros) at graph 0.99, graph 0.94 right front font tiny textcolor rgb '#404040'"
# Three lines above the picture: the title, the input, the machine. A terminal has room for one line.
if (is_text) {
    title_line = plot_title.': '.plot_file
    set label 1001 title_line[1:77] at character 1, screen 1 left front offset 0, -1
    set tmargin 2
}
if (!is_text) {
    set label 1001 plot_title at screen 0.015, screen 1 - 22.0 / plot_height left front font large
    set label 1002 plot_file at screen 0.015, screen 1 - 44.0 / plot_height left front textcolor rgb '#404040'
    set label 1003 plot_machine at screen 0.015, screen 1 - 63.0 / plot_height left front textcolor rgb '#404040'
    set tmargin at screen 1 - 88.0 / plot_height
}
