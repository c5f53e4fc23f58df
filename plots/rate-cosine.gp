# Cosine of gradient and reconstruction against bits per element: higher and further left is better.
set xlabel 'bits per element, all bytes counted'
set logscale x
set xrange [x_low:x_high]
set xtics (@x_tics)
set ylabel 'cosine of gradient and reconstruction'
set yrange [y_low:y_high]
eval draw_curves
