# Compression ratio against encoding speed, the error as colour. Further right and up is better, and so is darker. A ring
# is around what no other case beats in all three.
set xlabel 'compression ratio, input bytes / message bytes'
set ylabel 'encoding speed, GB/s of input (1e9)'
set logscale xy
set xrange [log_low(ratio_low, ratio_high):log_high(ratio_low, ratio_high)]
set yrange [log_low(speed_low, speed_high):log_high(speed_low, speed_high)]
set format '%g'
# Cividis (Nuñez, Anderton and Renslow, 2018), without its palest end.
set palette defined (0 '#00204d', 1 '#31446b', 2 '#666970', 3 '#958f78', 4 '#cab969', 5 '#dfc95e')
set cbrange [0:(error_high > 0 ? error_high : 1)]
set colorbox user horizontal origin screen 0.1, 0.11 size screen 0.3, 0.025
set cblabel 'relative L2 error'
set bmargin at screen 0.29
if (is_text) { unset colorbox; set bmargin }
# Every point has its number, unless there are very many.
numbered = points > 150 ? points : 1
plot for [i = 1:series] plot_data index i - 1 using (column("front") == 1 ? column("ratio") : NaN):"encode" with points pointtype 6 pointsize 2.4 linewidth 1.5 linecolor rgb '#D55E00', \
    for [i = 1:series] '' index i - 1 using "ratio":"encode":"rel_l2" with points pointtype shape_of(style[i]) pointsize 1.2 linewidth 1.5 linecolor palette, \
    for [i = 1:series] '' index i - 1 using "ratio":"encode":(sprintf('%d', i)) every numbered with labels offset 0.9, 0.6 left font ',8', \
    for [i = 1:series] keyentry with points pointtype shape_of(style[i]) pointsize 1.2 linecolor rgb '#404040' title sprintf('%d  %s', i, label[i]), \
    keyentry with points pointtype 6 pointsize 2.4 linewidth 1.5 linecolor rgb '#D55E00' title 'beaten by none'
