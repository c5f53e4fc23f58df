# Right answers on the test data: the median of the seeds at each test.
set xlabel 'training step'
set xrange [0:1.03 * place_high]
set ylabel 'right answers on test data, per cent'
set yrange [low(quality_low, quality_high):high(quality_low, quality_high)]
plot for [k in curves] plot_data index at(k) - 1 using "place":"quality" with linespoints linestyle at(k) title label[at(k)], \
    for [k in singles] plot_data index at(k) - 1 using "place":"quality" with points linestyle at(k) title label[at(k)]
