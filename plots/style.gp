# Shared by all plots. The variables of the picture are set before this script: plot_type, plot_output, plot_data,
# plot_title, plot_file, plot_machine, and the plot's own.
set encoding utf8
if (!exists('plot_width')) plot_width = 900
if (!exists('plot_height')) plot_height = 560
is_text = plot_type eq 'txt'
if (plot_type eq 'png') set terminal pngcairo noenhanced size 2*plot_width,2*plot_height font 'sans,11' fontscale 2 linewidth 2 pointscale 2 background rgb 'white'
if (plot_type eq 'svg') set terminal svg noenhanced size plot_width,plot_height dynamic font 'sans,13' linewidth 1.3 background rgb 'white'
if (plot_type eq 'pdf') set terminal pdfcairo noenhanced size plot_width/130.0,plot_height/130.0 font 'sans,8' linewidth 1.2 pointscale 0.6 background rgb 'white'
if (is_text) set terminal dumb noenhanced size 79,(plot_height > 800 && !exists("rows") ? 30 : plot_height/20) mono
set output plot_output
# Sizes of letters and points. SVG measures letters in pixels, and draws points larger.
is_svg = plot_type eq 'svg'
large = is_svg ? ',16' : ',13'
small = is_svg ? ',11' : ',9'
tiny = is_svg ? ',10' : ',8'
least = is_svg ? ',9' : ',7'
mark = is_svg ? 0.72 : 1.0

# The look of series i: linestyle i. A terminal has letters.
if (exists('colour')) do for [i = 1:series] {
    set style line i linecolor rgb colour[i] pointtype (is_text ? (i - 1) % 26 + 1 : int(point[i])) \
        linewidth 1.5 pointsize mark dashtype int(dash[i])
}
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
# A picture of a fixed size, whose curves have their labels beside them if there is room. `curves` draws the blocks of all
# series: their columns x and y, and lines where line_x is known.
if (exists('picture_width') && !is_text) {
    set lmargin at screen 90.0 / plot_width
    set rmargin at screen (90.0 + picture_width) / plot_width
    set bmargin at screen 1 - (88.0 + picture_height) / plot_height
}
if (exists('tag') && !is_text) {
    set key off
    do for [i = 1:series] {
        if (tag[i] ne '') {
            set label i tag[i] at first tag_x[i], first tag_y[i] center front font small textcolor rgb ink[i]
            set arrow i from first anchor_x[i], first anchor_y[i] to first tag_x[i], first tag_y[i] nohead back linecolor rgb '#dddddd' linewidth 0.7
        }
    }
}
draw_curves = 'plot for [i = 1:series] plot_data index i - 1 using (column("line_x")):(members[i] > 1 ? column("y") : NaN) with lines linestyle i,' \
    .' for [i = 1:series] plot_data index i - 1 using "x":"y" with points linestyle i pointsize size[i]*mark,' \
    .' for [i = 1:series] keyentry with linespoints linestyle i title label[i]'
# Two panels of exchanges: `eval exchange_panels`, with exchange_x under them. Left: the time; right: speed-up over the best baseline,
# with the labels of the first `named` series at the ends of their curves, and their errors. Other series are grey.
exchange_curves = 'plot for [k = (is_text ? series - named + 1 : 1):series] plot_data index series - k using "place":"%s" with lines linestyle series + 1 - k,' \
    .' for [k = 1:named] plot_data index k - 1 using (column("mark") == 1 ? column("place") : NaN):"%s" with points linestyle k title (is_text ? label[k].": error ".error[k] : "")'
exchange_left = 180.0 + (exists('panel_width') ? 2 * panel_width : 0) + 34 # of the labels
exchange_panels = 'set xlabel exchange_x; set logscale y; set format "%g"; set xrange [place_low / 1.06:place_high * 1.03]; set xtics (@place_tics) font small;' \
    .'if (is_text) { set xlabel exchange_x."; upwards: times as fast as the best of fp32, fp16, bf16"; unset rmargin; set key bottom outside center horizontal maxcols 1 };' \
    .'if (!is_text) { set multiplot; set key off; set bmargin at screen 1 - (88.0 + panel_height) / plot_height; set lmargin at screen 100.0 / plot_width; set rmargin at screen (100.0 + panel_width) / plot_width;' \
    .'    set ylabel "time of an exchange"; set yrange [time_low:time_high]; set ytics (@time_tics) font small;' \
    .'    eval sprintf(exchange_curves, "seconds", "seconds");' \
    .'    unset label 1001; unset label 1002; unset label 1003;' \
    .'    set lmargin at screen (180.0 + panel_width) / plot_width; set rmargin at screen (180.0 + 2 * panel_width) / plot_width;' \
    .'    set label 99 error_of at screen (exchange_left + label_width + 8) / plot_width, graph 1.05 left font small textcolor rgb "#404040";' \
    .'    if (grey ne "") { set label 98 grey at screen exchange_left / plot_width, graph 1.05 left font small textcolor rgb "#707070" };' \
    .'    do for [i = 1:named] { set label i label[i] at screen exchange_left / plot_width, graph end_to[i] left font small textcolor rgb ink[i];' \
    .'        set label 100 + i error[i] at screen (exchange_left + label_width + 8) / plot_width, graph end_to[i] left font small textcolor rgb ink[i];' \
    .'        set arrow i + 1 from graph 1, graph end_from[i] to screen (exchange_left - 4) / plot_width, graph end_to[i] nohead linecolor rgb colour[i] linewidth 0.8 } };' \
    .'set ylabel "times as fast as the best of fp32, fp16, bf16"; set yrange [speedup_low:speedup_high]; set ytics (@speedup_tics) font small;' \
    .'set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead linecolor rgb "#000000" linewidth 1 back;' \
    .'eval sprintf(exchange_curves, "speedup_bar", "speedup_bar")'
