# Left: the time of an exchange. Right: how much faster it is than the best of fp32, fp16 and bf16; rings mark where a method
# stops to be. The best methods have labels; the others are grey.
exchange_x = 'bandwidth of the link, Gbit/s'
set logscale x 10
rings = ', plot_data index series using "place":(1) with points pointtype (is_text ? 0 : 6) pointsize 1.8*mark linewidth 1.2 linecolor rgb "#404040"'
eval exchange_panels
if (!is_text) unset multiplot
