#include "src/tool/hdf5/h5type.h"

static hid_t create_half(void)
{
    const hid_t type = H5Tcopy(H5T_IEEE_F32LE);

    if (type >= 0 && (H5Tset_fields(type, 15, 10, 5, 0, 10) < 0 || H5Tset_size(type, 2) < 0 ||
                      H5Tset_ebias(type, 15) < 0)) {
        H5Tclose(type);
        return -1;
    }
    return type;
}

hid_t gcb_h5type_create(enum gcb_dtype dtype)
{
    if (dtype == GCB_F16)
        return create_half();
    return H5Tcopy(dtype == GCB_F64 ? H5T_IEEE_F64LE : H5T_IEEE_F32LE);
}
