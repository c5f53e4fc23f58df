# Left: the time of an exchange. Right: how many times as fast it is as the best of fp32, fp16 and bf16. The ways worth a name
# have labels, with their errors; the others are grey.
exchange_x = 'bandwidth of the link'
set logscale x 10
eval exchange_panels
if (!is_text) unset multiplot
