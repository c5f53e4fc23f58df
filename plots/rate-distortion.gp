# Relative L2 error against bits per element: lower and further left is better.
eval find_strips
eval name_strips
eval open(590 + legend_width, 520)
eval extent('bits', 'column("bits_per_element")', '1')
eval log_axis('x', log_low(bits_low, bits_high), log_high(bits_low, bits_high), '')
eval log_axis('y', strip_low, strip_high, '')
set yrange [error_low:error_high]
eval strips('y')
set xlabel 'bits per element, all bytes counted'
set ylabel 'relative L2 error'
inner(x) = inside(column("rel_l2")) ? column("rel_l2") : NaN
eval 'plot '.curves('column("bits_per_element")', 'inner(0)', 'lines').', '.curves('column("bits_per_element")', 'place(column("rel_l2"))', 'points').', '.legend
