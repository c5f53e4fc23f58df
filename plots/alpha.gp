# Left: alpha, the relative error of the averaged update against what was owed. Right: what is not sent yet, in units of a
# gradient's norm.
if (!is_text) set multiplot
set xlabel 'step replayed'
set ytics format '%g'
set yrange [0:*]
set key off
set lmargin at screen 0.08
set rmargin at screen 0.38
set ylabel 'alpha'
if (is_text) set lmargin; set rmargin; set key on
plot for [i = 1:series] plot_data index i - 1 using "index":"alpha" with linespoints linestyle line_of(style[i]) title label[i]
if (!is_text) {
    unset label 1001; unset label 1002; unset label 1003
    set lmargin at screen 0.47
    set rmargin at screen 0.74
    set key on at screen 0.755, graph 1 left top
    set ylabel 'norm of the residual / norm of the gradient'
    plot for [i = 1:series] plot_data index i - 1 using "index":"residual" with linespoints linestyle line_of(style[i]) title label[i]
    unset multiplot
}
