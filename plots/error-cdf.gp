# The share of elements with at most a given error: further left and up is better. A curve begins at
# the share of elements without any error. Series 0 is the gradient.
eval extent('error', 'column("magnitude")', 'v > 0 && v < 1e29 && column("share") >= (column("series") == 0 ? 0.001 : 0.02)')
eval extent('input', 'column("magnitude")', 'column("series") == 0')
has_input = input_low <= input_high
if (error_low > error_high) { error_low = 1; error_high = 1 }
eval open(590 + legend_width, 520)
eval log_axis('x', log_low(error_low, error_high), log_high(error_low, error_high), '')
set format x '%.0e'
set xtics auto
set yrange [0:1.02]
set clip two
set xlabel '|error| of an element, in units of the gradient'
set ylabel 'share of elements with at most that error'
at_least(x) = x < log_low(error_low, error_high) ? log_low(error_low, error_high) : x
x_of(x) = at_least(column("magnitude"))
eval 'plot for [k = 1:has_input] plot_data using (row_of(0) ? x_of(0) : NaN):"share" with steps linecolor rgb "#b0b0b0" linewidth 4 title "|gradient|", '.curves('x_of(0)', 'column("share")', 'steps') \
    .', for [k = 1:named] plot_data using (row_of(k) ? x_of(0) : NaN):"share" every 7 with points linestyle k, '.legend
