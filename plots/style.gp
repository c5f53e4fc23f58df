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

# Colours that people with any kind of colour vision tell apart (Okabe and Ito, 2008; without its yellow, which
# is too pale on white), with points of ten shapes: seventy styles before one comes again. From 101: baselines.
colours = '#0072B2 #D55E00 #009E73 #CC79A7 #E69F00 #56B4E9 #404040'
shapes = '7 5 9 13 11 15 6 4 8 12'
shape_of(i) = i > 100 ? int(word('1 2 3 10 14 1 2 3 10 14', i - 100)) : int(word(shapes, (i - 1) % 10 + 1))
do for [i = 1:70] {
    set style line i linecolor rgb word(colours, (i - 1) % 7 + 1) pointtype shape_of(i) \
        linewidth 1.5 pointsize 1 dashtype 1 + (i - 1) / 7 % 4
}
do for [i = 101:110] {
    set style line i linecolor rgb '#000000' pointtype shape_of(i) linewidth 1.5 pointsize 1.2 dashtype 3
}
line_of(i) = i > 100 ? i : (i - 1) % 70 + 1

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
if (is_text) unset grid
# Three lines above the picture: what, of what, where it ran. A terminal has room for one.
if (is_text) set title plot_title.': '.plot_file
if (!is_text) {
    set label 1001 plot_title at screen 0.015, screen 1 - 22.0 / plot_height left front font ',13'
    set label 1002 plot_file at screen 0.015, screen 1 - 44.0 / plot_height left front textcolor rgb '#404040'
    set label 1003 plot_machine at screen 0.015, screen 1 - 63.0 / plot_height left front textcolor rgb '#404040'
    set tmargin at screen 1 - 88.0 / plot_height
}
