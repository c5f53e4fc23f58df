# What encoding an element costs, by elements or by threads. Set before: table, picture, names, axis.
set terminal svg size 900,420 dynamic font 'sans,13' background rgb 'white'
set output picture
set datafile separator comma
set logscale x 2
set logscale y
set format x (axis eq 'elements' ? '2^{%L}' : '%g')
set xlabel axis
set ylabel 'nanoseconds per element'
set key outside right top Left reverse noenhanced
set grid
plot for [k = 1:words(names)] table using 1:(column(k + 1)) with linespoints title word(names, k)
