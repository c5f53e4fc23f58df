# The share of a group's energy that the largest coefficients keep: higher is better. What shuffled
# elements or a random basis keep is not due to order.
eval extent('density', 'column("density")', '1')
eval open(590 + legend_width, 520)
eval log_axis('x', log_low(density_low, density_high), log_high(density_low, density_high), '')
set yrange [0:1.02]
set xlabel 'coefficients kept, as a share of the elements'
set ylabel 'share of the energy in them'
eval 'plot '.curves('column("density")', 'column("energy_share")', 'linespoints').', '.legend
