"""The table: types x operations of OpenSHMEM 1.5 and of NVSHMEM's host side, and the names of the
functions that are written by hand."""

# name in function names -> (C type, enum nvsi_dtype)
TYPES = {
    "float": ("float", "NVSI_FLOAT32"),
    "double": ("double", "NVSI_FLOAT64"),
    "longdouble": ("long double", "NVSI_LONGDOUBLE"),
    "complexf": ("nvs_complexf_t", "NVSI_COMPLEXF"),
    "complexd": ("nvs_complexd_t", "NVSI_COMPLEXD"),
    "half": ("nvshmem_half", "NVSI_FLOAT16"),
    "bfloat16": ("nvshmem_bfloat16", "NVSI_BFLOAT16"),
    "char": ("char", "NVSI_DTYPE_CHAR"),
    "schar": ("signed char", "NVSI_INT8"),
    "short": ("short", "NVSI_INT16"),
    "int": ("int", "NVSI_INT32"),
    "long": ("long", "NVSI_INT64"),
    "longlong": ("long long", "NVSI_INT64"),
    "uchar": ("unsigned char", "NVSI_UINT8"),
    "ushort": ("unsigned short", "NVSI_UINT16"),
    "uint": ("unsigned int", "NVSI_UINT32"),
    "ulong": ("unsigned long", "NVSI_UINT64"),
    "ulonglong": ("unsigned long long", "NVSI_UINT64"),
    "int8": ("int8_t", "NVSI_INT8"),
    "int16": ("int16_t", "NVSI_INT16"),
    "int32": ("int32_t", "NVSI_INT32"),
    "int64": ("int64_t", "NVSI_INT64"),
    "uint8": ("uint8_t", "NVSI_UINT8"),
    "uint16": ("uint16_t", "NVSI_UINT16"),
    "uint32": ("uint32_t", "NVSI_UINT32"),
    "uint64": ("uint64_t", "NVSI_UINT64"),
    "size": ("size_t", "NVSI_UINT64"),
    "ptrdiff": ("ptrdiff_t", "NVSI_INT64"),
}


def words(text):
    return text.split()


STANDARD_AMO = words("int long longlong uint ulong ulonglong int32 int64 uint32 uint64 size ptrdiff")
EXTENDED_AMO = words("float double") + STANDARD_AMO
BITWISE_AMO = words("uint ulong ulonglong int32 int64 uint32 uint64")
WAITED = words("short ushort") + STANDARD_AMO
FIXED = words("int8 int16 int32 int64 uint8 uint16 uint32 uint64")
C_INTEGERS = words("char schar short int long longlong uchar ushort uint ulong ulonglong")

SHMEM_RMA = words("float double longdouble") + C_INTEGERS + FIXED + words("size ptrdiff")
SHMEM_BITWISE = words("uchar short ushort int uint long ulong longlong ulonglong") + FIXED + ["size"]
SHMEM_REDUCE = {
    "and": SHMEM_BITWISE,
    "or": SHMEM_BITWISE,
    "xor": SHMEM_BITWISE,
    "max": SHMEM_RMA,
    "min": SHMEM_RMA,
    "sum": SHMEM_RMA + words("complexf complexd"),
    "prod": SHMEM_RMA + words("complexf complexd"),
}
OLD_INTEGERS = words("short int long longlong")
OLD_REALS = words("float double longdouble")
SHMEM_TO_ALL = {
    "and": OLD_INTEGERS,
    "or": OLD_INTEGERS,
    "xor": OLD_INTEGERS,
    "max": OLD_INTEGERS + OLD_REALS,
    "min": OLD_INTEGERS + OLD_REALS,
    "sum": OLD_INTEGERS + OLD_REALS + words("complexf complexd"),
    "prod": OLD_INTEGERS + OLD_REALS + words("complexf complexd"),
}

NVSHMEM_RMA = words("half bfloat16 float double") + C_INTEGERS + FIXED + words("size ptrdiff")
NVSHMEM_ARITHMETIC = [t for t in NVSHMEM_RMA if t != "ptrdiff"]
NVSHMEM_BITWISE = words("uchar ushort uint ulong ulonglong") + FIXED + ["size"]
NVSHMEM_REDUCE = {
    "and": NVSHMEM_BITWISE,
    "or": NVSHMEM_BITWISE,
    "xor": NVSHMEM_BITWISE,
    "max": NVSHMEM_ARITHMETIC,
    "min": NVSHMEM_ARITHMETIC,
    "sum": NVSHMEM_ARITHMETIC,
    "prod": NVSHMEM_ARITHMETIC,
}

SIZES = words("8 16 32 64 128")  # bits, for put32 and the like

# The distinct types of C, for overloads and _Generic: every other name is one of these.
C_TYPES = words("float double longdouble") + C_INTEGERS

# ---- written by hand, in src/api/*.c; prototypes in the headers named here -----------------------

SHMEM_BY_HAND = words(
    """
    shmem_init shmem_init_thread shmem_query_thread shmem_finalize shmem_global_exit shmem_my_pe
    shmem_n_pes shmem_pe_accessible shmem_addr_accessible shmem_ptr shmem_info_get_version
    shmem_info_get_name shmem_pcontrol
    shmem_malloc shmem_calloc shmem_align shmem_realloc shmem_malloc_with_hints shmem_free
    shmem_team_my_pe shmem_team_n_pes shmem_team_get_config shmem_team_translate_pe
    shmem_team_split_strided shmem_team_split_2d shmem_team_destroy shmem_team_sync shmem_team_ptr
    shmem_team_create_ctx shmem_ctx_create shmem_ctx_destroy shmem_ctx_get_team
    shmem_ctx_c11_generic_selection_failed
    shmem_fence shmem_ctx_fence shmem_quiet shmem_ctx_quiet shmem_barrier_all shmem_sync_all
    shmem_signal_fetch shmem_signal_wait_until shmem_set_lock shmem_clear_lock shmem_test_lock
    shmem_barrier shmem_sync shmem_wait shmem_wait_until
    shmem_set_cache_inv shmem_clear_cache_inv shmem_set_cache_line_inv shmem_clear_cache_line_inv
    shmem_udcflush shmem_udcflush_line
    """
)

# Deprecated names outside of the prefix; they have no profiling name.
SHMEM_BY_HAND_OLD = words(
    "start_pes my_pe _my_pe num_pes _num_pes shmalloc shfree shrealloc shmemalign"
)

NVSHMEM_BY_HAND = words(
    """
    nvshmem_init nvshmem_init_thread nvshmem_query_thread nvshmem_finalize nvshmem_global_exit
    nvshmem_my_pe nvshmem_n_pes nvshmem_ptr nvshmem_info_get_version nvshmem_info_get_name
    nvshmem_malloc nvshmem_calloc nvshmem_align nvshmem_free
    nvshmem_team_my_pe nvshmem_team_n_pes nvshmem_team_get_config nvshmem_team_translate_pe
    nvshmem_team_split_strided nvshmem_team_split_2d nvshmem_team_destroy nvshmem_team_sync
    nvshmem_sync nvshmem_barrier nvshmem_barrier_all nvshmem_sync_all nvshmem_fence nvshmem_quiet
    nvshmem_signal_fetch nvshmem_signal_wait_until
    nvshmemx_init_attr nvshmemx_hostlib_init_attr nvshmemx_hostlib_finalize nvshmemx_init_status
    nvshmemx_get_uniqueid nvshmemx_set_attr_uniqueid_args nvshmemx_set_attr_mpi_comm_args
    nvshmemx_vendor_get_version_info nvshmemx_team_init nvshmemx_team_get_uniqueid
    nvshmemx_signal_op nvshmemx_mc_ptr nvshmemx_buffer_register nvshmemx_buffer_unregister
    nvshmemx_buffer_unregister_all nvshmemx_buffer_register_symmetric
    nvshmemx_buffer_unregister_symmetric nvshmemx_error_check nvshmemx_cumodule_init
    nvshmemx_cumodule_finalize nvshmemx_culibrary_init nvshmemx_culibrary_finalize
    nvshmemx_get_device_context nvshmemx_qp_create
    """
)
