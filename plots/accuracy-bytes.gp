# Quality on the test data, the median of the seeds, against bytes on a worker's link or against
# seconds.
eval extent('place', 'column("place")', 'v > 0')
eval extent('quality', 'column("quality")', '1')
eval open(590 + legend_width, 520)
eval log_axis('x', log_low(place_low, place_high), log_high(place_low, place_high), by_time ? 's' : 'B')
set yrange [low(quality_low, quality_high):high(quality_low, quality_high)]
set xlabel (by_time ? 'time of training' : 'bytes that a worker has put on its link')
set ylabel 'right answers on test data, per cent'
eval 'plot '.curves('column("place")', 'column("quality")', 'linespoints').', '.legend
