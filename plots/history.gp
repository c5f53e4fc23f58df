# Left: the ratio. Right: the encoding speed. Both are in units of the method's first run. Runs have
# equal distances on the axis.
eval extent('run', 'column("run")', '1')
eval extent('ratio', 'column("ratio_change")', 'v > 0')
eval extent('speed', 'column("speed_change")', 'v > 0')
if (speed_low > speed_high) { speed_low = 1; speed_high = 1 }
runs = int(run_high)
every_run = (runs + 15) / 16
array run_name[runs]
stats plot_data using (run_name[int(column("run"))] = strcol("name"), 1) nooutput
eval open(800 + legend_width, 560)
set xrange [0.7:runs + 0.3]
set xtics ()
if (is_text) { set xtics 1, every_run; set xlabel 'run' } else {
    set xtics rotate by 90 right font tiny
    do for [i = 1:runs] { if (i == runs || ((i - 1) % every_run == 0 && runs - i >= every_run)) { set xtics add (run_name[i] i) } }
    set multiplot
}
set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead back linecolor rgb '#808080' linewidth 1
# The axis is logarithmic if figures differ by more than a factor of 3. A linear axis shows at least
# 5 % on both sides of 1.
scale(a, b) = b > 3 * a ? log_axis('y', log_low(a, b), log_high(a, b), '') : sprintf('unset logscale y; set ytics auto; set yrange [%g:%g]', low(a < 0.95 ? a : 0.95, b), high(a, b > 1.05 ? b : 1.05))
changes(name) = 'plot '.curves('column("run")', 'column("'.name.'")', 'linespoints').', '.legend
if (!is_text) {
    set key off
    eval box(95, plot_width - 395, 88, 150)
    set ylabel 'ratio / first ratio'
    eval scale(ratio_low, ratio_high)
    eval changes('ratio_change')
    eval close_heading
    eval box(465, plot_width - 780, 88, 150)
    set key on at screen 795 / plot_width, graph 1 left top
}
set ylabel 'encoding speed / first speed'
eval scale(speed_low, speed_high)
eval changes('speed_change')
if (!is_text) { unset multiplot }
