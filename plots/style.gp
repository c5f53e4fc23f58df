# What all plots share. In front of it stand the variables of the page: plot_type, plot_output, plot_data,
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
# Sizes of letters, and of points: those of SVG are pixels, and its points larger.
is_svg = plot_type eq 'svg'
large = is_svg ? ',16' : ',13'
small = is_svg ? ',11' : ',9'
tiny = is_svg ? ',10' : ',8'
least = is_svg ? ',9' : ',7'
mark = is_svg ? 0.72 : 1.0

# Colours that people with any kind of colour vision tell apart (Okabe and Ito, 2008; without its yellow, which
# is too pale on white), with points of eighteen kinds: seventy styles before one comes again. From 101: baselines.
# Kinds of points are filled, open, and open with thick lines; a terminal has letters.
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
# Series of several points, which a line connects, and those of one, which have none in the legend either.
curves = ''
singles = ''
if (exists('members')) do for [i = 1:series] {
    if (members[i] > 1) { curves = curves.sprintf(' %d', i) } else { singles = singles.sprintf(' %d', i) }
}
# A number of these; a loop over none of them is still looked at once.
at(k) = k eq '' ? 1 : int(k)
# Is this cell of the data a number? column() of one that is none would drop the whole row.
has(name) = strcol(name) ne 'NaN'
or_else(name, x) = has(name) ? column(name) : x

# A range with room around its ends, on a logarithmic axis and on a linear one.
log_low(a, b) = a / (b / a) ** 0.06 / 1.05
log_high(a, b) = b * (b / a) ** 0.06 * 1.05
low(a, b) = a - 0.06 * (b - a) - (a == b ? abs(a) * 0.1 : 0)
high(a, b) = b + 0.06 * (b - a) + (a == b ? abs(a) * 0.1 : 0)

set border 3 linecolor rgb '#404040' linewidth 0.8
set tics nomirror out scale 0.6
set grid linecolor rgb '#d0d0d0' linewidth 0.7 dashtype solid
set key outside right top vertical Left reverse samplen 2.2 spacing 1.15 noautotitle
if (is_text) set key outside right top vertical Left reverse samplen 1
# Two pictures side by side and the legend beside both, in pixels: `eval panel(1)`, `eval panel(2)`.
panel(k) = sprintf('set lmargin at screen %f; set rmargin at screen %f; ', (k * 390.0 - 300) / plot_width, (k * 390.0 - 5) / plot_width).(k == 1 ? 'set key off' : sprintf('unset label 1001; unset label 1002; unset label 1003; set key on at screen %f, graph 1 left top', 790.0 / plot_width))
if (is_text) unset grid
# Three lines above the picture: what, of what, where it ran. A terminal has room for one.
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
