# The share of elements with at most a given error: further left and up is better. A curve that begins above 0 begins
# with the share of elements that came back exactly.
set xlabel '|error| of an element, in units of the gradient'
set ylabel 'share of elements with at most that error'
set logscale x
set xrange [log_low(error_low, error_high):log_high(error_low, error_high)]
set yrange [0:1.02]
set format x '%.0e'
set clip two
if (has_input) {
    plot plot_data index 0 using "magnitude":"share" with lines linecolor rgb '#b0b0b0' linewidth 4 title '|gradient|', \
        for [i = 1:series] '' index i using "magnitude":"share" with linespoints linestyle i pointinterval -7 title label[i]
} else {
    plot for [i = 1:series] plot_data index i using "magnitude":"share" with linespoints linestyle i pointinterval -7 title label[i]
}
