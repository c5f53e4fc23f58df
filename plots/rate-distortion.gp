# Relative L2 error against bits per element: lower and further left is better.
set xlabel 'bits per element, all bytes counted'
set logscale xy
set xrange [x_low:x_high]
set xtics (@x_tics)
set ylabel 'relative L2 error' offset (is_text ? 0 : 1), 0
set yrange [y_low:y_high]
set format '%g'
set ytics (@error_tics)
# Exact methods, baselines far below the other methods, and very large errors are in strips at the ends of the axis.
strip(y) = sprintf('set arrow from graph 0, first %g to graph 1, first %g nohead back linecolor rgb "#909090" dashtype 3', y, y)
if (error_below == error_below) { eval strip(strip_low); set ytics add (sprintf('< %.1g', strip_low) error_below) }
if (error_above == error_above) { eval strip(strip_high); set ytics add (sprintf('> %.1g', strip_high) error_above) }
eval draw_curves
