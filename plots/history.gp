# Left: the ratio. Right: the encoding speed. Both in units of the method's first run; runs are equally far apart.
if (!is_text) set multiplot
set xrange [0.7:runs + 0.3]
set xtics ()
if (!is_text) {
    set xtics rotate by 90 right font tiny
    do for [i = 1:runs] { if (i == runs || ((i - 1) % every == 0 && runs - i >= every)) { set xtics add (run_name[i] i) } }
    set bmargin at screen 160.0 / plot_height
}
if (is_text) { set xtics 1, every; set xlabel 'run' }
if (unnamed > 0 && !is_text) set label 2 sprintf('grey: %d more methods, which changed less', unnamed) at screen 0.985, screen 12.0 / plot_height right font small textcolor rgb '#404040'
set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead back linecolor rgb '#808080' linewidth 1
named = series - unnamed
# The axis is logarithmic if figures differ by more than a factor of 3, and shows at least 5 % to both sides.
scale(a, b, tics) = b > 3 * a ? sprintf('set logscale y; set ytics (%s); set yrange [%g:%g]', tics, log_low(a, b), log_high(a, b)) \
    : sprintf('unset logscale y; set ytics auto; set yrange [%g:%g]', low(a < 0.95 ? a : 0.95, b), high(a, b > 1.05 ? b : 1.05))
curve(name) = sprintf('plot for [k = 0:series - 1] plot_data index series - 1 - k using "run":"%s" with lines linestyle series - k, for [k = 1:named] plot_data index k - 1 using "run":"%s" with points linestyle k, for [k = 1:named] keyentry with linespoints linestyle k title label[k]', name, name)
if (!is_text) {
    eval panel(1)
    set ylabel 'ratio / first ratio'
    eval scale(ratio_low, ratio_high, ratio_tics)
    eval curve('ratio_change')
    eval panel(2)
    unset label 2
}
set ylabel 'encoding speed / first speed'
eval scale(speed_low, speed_high, speed_tics)
eval curve('speed_change')
if (!is_text) unset multiplot
