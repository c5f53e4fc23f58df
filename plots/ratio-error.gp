# Compression ratio against relative L2 error: higher and further left is better.
eval find_strips
eval name_strips
eval open(590 + legend_width, 520)
eval extent('ratio', 'column("ratio")', '1')
eval log_axis('x', strip_low, strip_high, '')
eval log_axis('y', log_low(ratio_low, ratio_high), log_high(ratio_low, ratio_high), '')
set xrange [error_low:error_high]
eval strips('x')
set xlabel 'relative L2 error'
set ylabel 'compression ratio, input bytes / message bytes'
inner(x) = inside(column("rel_l2")) ? column("rel_l2") : NaN
eval 'plot '.curves('inner(0)', 'column("ratio")', 'lines').', '.curves('place(column("rel_l2"))', 'column("ratio")', 'points').', '.legend
