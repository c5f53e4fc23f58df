/* Launches whose blocks loop over pieces of work: limits their grids, and records their places in
 * the source. */
#include <algorithm>
#include <fstream>
#include <map>
#include <string>

#include "emulate.h"
#include "host.h"

namespace
{

uint64_t most_blocks;
std::map<std::string, bool> turned; /* by file and line: did its blocks loop? */

} /* namespace */

uint64_t gcb_host::grid_over(uint64_t pieces, uint64_t most, const char *file, int line)
{
    const std::string path = file, place = path.substr(path.rfind("kernels/"));
    const uint64_t blocks =
        std::max<uint64_t>(1, std::min(pieces, most_blocks ? std::min(most, most_blocks) : most));

    turned[place + ":" + std::to_string(line)] |= pieces > blocks;
    return blocks;
}

void gcb_host_grid(uint64_t most)
{
    most_blocks = most;
}

bool gcb_host_grids(const char *path)
{
    std::ofstream to(path);

    for (const auto &[place, more] : turned)
        to << place << (more ? " turned" : " once") << '\n';
    to.flush();
    return to.good();
}
