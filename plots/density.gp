# The share of the elements that each method keeps, in each step of a replay. The legend has lines,
# because only dashes tell some settings of a method apart.
eval extent('index', 'column("index")', '1')
eval extent('density', 'column("density")', '1')
eval open(620 + legend_width, 520)
set xrange [index_low - 0.5:index_high + 0.5]
eval log_axis('y', log_low(density_low, density_high), log_high(density_low, density_high), '')
set xlabel 'steps replayed before'
set ylabel 'elements kept, as a share of all'
if (!is_text) { set key samplen 4 }
eval 'plot '.curves('column("index")', 'column("density")', index_high > 60 ? 'lines' : 'linespoints') \
    .', for [k = 1:named] keyentry with linespoints linestyle k title label[k], for [k = 1:greys] keyentry with points linestyle 1000 title grey'
