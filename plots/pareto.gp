# Compression ratio against encoding speed, with the error as colour. Further right, further up and darker is better. A
# ring marks a case that no other beats in all three. Numbers name the series.
set xlabel (is_text ? 'ratio (*: unbeaten)' : 'compression ratio, input bytes / message bytes')
set ylabel 'encoding speed, GB/s of input (1e9 bytes)'
set logscale xy
set xrange [ratio_axis_low:ratio_axis_high]
set yrange [speed_axis_low:speed_axis_high]
set format '%g'
if (ratio_axis_high < 300 * ratio_axis_low) set xtics (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
if (speed_axis_high < 300 * speed_axis_low) set ytics (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200)
# Cividis (Nuñez, Anderton and Renslow, 2018), without its palest end.
set palette defined (0 '#00204d', 1 '#31446b', 2 '#666970', 3 '#958f78', 4 '#cab969', 5 '#dfc95e')
set cbrange [0:(error_high > 0 ? error_high : 1)]
set colorbox user horizontal origin screen 80.0 / plot_width, screen 66.0 / plot_height size screen 300.0 / plot_width, screen 14.0 / plot_height
set cbtics 0.2
set cblabel 'relative L2 error'
set lmargin at screen 80.0 / plot_width
set rmargin at screen (80.0 + picture_width) / plot_width
set bmargin at screen 1 - (88.0 + picture_height) / plot_height
if (is_text) {
    unset colorbox
    unset lmargin
    unset rmargin
    unset bmargin
    plot for [i = 1:series] plot_data index i - 1 using "ratio":"encode" with points pointtype shape_of(style[i]) title label[i], \
        for [i = 1:series] '' index i - 1 using "ratio":"encode":(column("front") == 1 ? '*' : ' ') with labels offset 1, 0
} else {
    plot for [i = 1:series] plot_data index i - 1 using (column("front") == 1 ? column("ratio") : NaN):"encode" with points pointtype 6 pointsize 2.4*mark linewidth 1.5 linecolor rgb '#D55E00', \
        for [i = 1:series] '' index i - 1 using "ratio":"encode":"rel_l2" with points pointtype shape_of(style[i]) pointsize 1.2*mark linewidth weight_of(style[i]) / mark linecolor palette, \
        for [i = 1:series] '' index i - 1 using "label_ratio":"label_encode":(sprintf('%d', i)) with labels center font tiny, \
        for [i = 1:series] keyentry with points pointtype shape_of(style[i]) pointsize 1.2*mark linewidth weight_of(style[i]) / mark linecolor rgb '#404040' title sprintf('%d  %s', i, label[i]), \
        keyentry with points pointtype 6 pointsize 2.4*mark linewidth 1.5 linecolor rgb '#D55E00' title 'unbeaten'
}
