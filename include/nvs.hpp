/*
 * nvs.hpp - nvs for C++17: RAII and overloads by type over nvs.h and nvshmem.h; no new semantics.
 *
 *     nvs::session job;
 *     nvs::buffer<float> grads(n);
 *     nvs::all_reduce(grads.data(), grads.size(), NVS_AVG);
 *
 * Functions throw nvs::error. Exceptions to that are puts, gets, atomics and waits, which are
 * NVSHMEM's void functions and fail like these (nvshmem.h), and destructors, which do not fail.
 */
#ifndef NVS_HPP
#define NVS_HPP

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "nvs.h"
#include "nvshmem.h"

namespace nvs
{

/* ---- errors ---------------------------------------------------------------------------------- */

class error : public std::runtime_error
{
  public:
    error(int status, const char *sentence)
        : std::runtime_error(sentence && *sentence ? sentence : nvs_strerror(status)),
          status_(status)
    {
    }
    int status() const noexcept { return status_; } /* NVS_ERR_* */

  private:
    int status_;
};

namespace detail
{

/* Passes results through and throws for a negative status. */
inline int check(int status)
{
    if (status < 0)
        throw error(status, nvs_last_error());
    return status;
}

} // namespace detail

/* ---- start, end, memory ---------------------------------------------------------------------- */

inline void init()
{
    detail::check(nvs_init());
}

inline void finalize()
{
    detail::check(nvs_finalize());
}

inline int my_pe()
{
    return detail::check(nvs_my_pe());
}

inline int n_pes()
{
    return detail::check(nvs_n_pes());
}

/* Symmetric host memory; collective over all PEs. nullptr for 0 bytes. */
inline void *malloc(std::size_t nbytes)
{
    void *ptr = nvs_malloc(nbytes);
    if (!ptr && nbytes)
        throw error(nvs_n_pes() < 0 ? NVS_ERR_STATE : NVS_ERR_MEMORY, nvs_last_error());
    return ptr;
}

inline void *malloc_device(std::size_t nbytes)
{
    void *ptr = nvs_malloc_device(nbytes);
    if (!ptr && nbytes)
        throw error(nvs_n_pes() < 0 ? NVS_ERR_STATE : NVS_ERR_MEMORY, nvs_last_error());
    return ptr;
}

inline void free(void *ptr)
{
    detail::check(nvs_free(ptr));
}

/* The job as an object: init .. finalize. */
class session
{
  public:
    session() { init(); }
    ~session() { nvs_finalize(); }
    session(const session &) = delete;
    session &operator=(const session &) = delete;
};

/* A symmetric array of trivial elements, not initialised. Its construction is collective over all
 * PEs, which pass the same size; memory is used again once all PEs have destroyed theirs. One that
 * outlives its session has lost its memory with it, and frees nothing. */
template <typename T> class buffer
{
    static_assert(std::is_trivially_copyable<T>::value, "other PEs copy the bytes of elements");

  public:
    buffer() noexcept = default;
    explicit buffer(std::size_t nelems)
        : data_(allocate(nelems)), size_(nelems), session_(nvs_session())
    {
    }
    buffer(buffer &&other) noexcept { swap(other); }
    buffer &operator=(buffer &&other) noexcept
    {
        swap(other);
        return *this;
    }
    buffer(const buffer &) = delete;
    buffer &operator=(const buffer &) = delete;
    ~buffer()
    {
        if (session_ == nvs_session())
            nvs_free(data_);
    }

    T *data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    T *begin() const noexcept { return data_; }
    T *end() const noexcept { return data_ + size_; }
    T &operator[](std::size_t i) const noexcept { return data_[i]; }

  private:
    static T *allocate(std::size_t nelems)
    {
        if (nelems > SIZE_MAX / sizeof(T))
            throw error(NVS_ERR_INVALID, "nvs::buffer: more elements than memory can hold");
        return static_cast<T *>(nvs::malloc(nelems * sizeof(T)));
    }
    void swap(buffer &other) noexcept
    {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(session_, other.session_);
    }

    T *data_ = nullptr;
    std::size_t size_ = 0;
    unsigned session_ = 0; /* whose memory it is */
};

/* ---- teams ----------------------------------------------------------------------------------- */

/* A team of PEs; default constructed: the world. Teams made by split are destroyed with the object,
 * at a time when all members are done with them. Usable wherever nvs_team_t is. */
class team
{
  public:
    team() noexcept = default;
    team(team &&other) noexcept { swap(other); }
    team &operator=(team &&other) noexcept
    {
        swap(other);
        return *this;
    }
    team(const team &) = delete;
    team &operator=(const team &) = delete;
    ~team()
    {
        if (id_ > NVSHMEMX_TEAM_SAME_MYNODE_INDEX && session_ == nvs_session())
            nvshmem_team_destroy(id_);
    }

    /* PEs start, start + stride, ... of this team. All PEs of this team call it; those that are not
     * chosen get a team that is false. */
    team split(int start, int stride, int size) const
    {
        team made;
        nvshmem_team_t id;
        detail::check(nvshmem_team_split_strided(id_, start, stride, size, nullptr, 0, &id));
        made.id_ = id;
        made.session_ = nvs_session();
        return made;
    }

    explicit operator bool() const noexcept { return id_ != NVSHMEM_TEAM_INVALID; }
    operator nvs_team_t() const noexcept { return id_; }
    int my_pe() const noexcept { return nvshmem_team_my_pe(id_); }
    int n_pes() const noexcept { return nvshmem_team_n_pes(id_); }
    void barrier() const { detail::check(nvshmem_barrier(id_)); }

  private:
    void swap(team &other) noexcept
    {
        std::swap(id_, other.id_);
        std::swap(session_, other.session_);
    }

    nvs_team_t id_ = NVS_TEAM_WORLD;
    unsigned session_ = 0; /* in which it was made; the destructor of one of another does nothing */
};

/* Completes this PE's puts, then waits for all PEs (of a team). */
inline void barrier(nvs_team_t members = NVS_TEAM_WORLD)
{
    detail::check(nvshmem_barrier(members));
}

/* ---- collectives ----------------------------------------------------------------------------- */

namespace detail
{

template <typename T> constexpr nvs_dtype integer_dtype()
{
    static_assert(std::is_integral<T>::value && !std::is_same<T, bool>::value && sizeof(T) != 2,
                  "no nvs_dtype for this type");
    return sizeof(T) == 1   ? (std::is_signed<T>::value ? NVS_INT8 : NVS_UINT8)
           : sizeof(T) == 4 ? (std::is_signed<T>::value ? NVS_INT32 : NVS_UINT32)
                            : (std::is_signed<T>::value ? NVS_INT64 : NVS_UINT64);
}

} // namespace detail

/* The nvs_dtype of a C++ type. Specialise it for half types of your own. */
template <typename T> struct dtype_of {
    static constexpr nvs_dtype value = detail::integer_dtype<T>();
};
template <> struct dtype_of<float> {
    static constexpr nvs_dtype value = NVS_FLOAT32;
};
template <> struct dtype_of<double> {
    static constexpr nvs_dtype value = NVS_FLOAT64;
};
#if defined(__CUDA_FP16_TYPES_EXIST__)
template <> struct dtype_of<__half> {
    static constexpr nvs_dtype value = NVS_FLOAT16;
};
#endif
#if defined(__CUDA_BF16_TYPES_EXIST__)
template <> struct dtype_of<__nv_bfloat16> {
    static constexpr nvs_dtype value = NVS_BFLOAT16;
};
#endif

/* In place, over all PEs: afterwards buf of every PE has the root's bytes. */
inline void broadcast(void *buf, std::size_t nbytes, int root)
{
    detail::check(nvs_broadcast(NVS_TEAM_WORLD, buf, buf, nbytes, NVS_UINT8, root, nullptr));
}

/* The options of one call:
 *     all_reduce(team, dst, src, n, NVS_SUM, call().on(stream).label("grads")); */
class call
{
  public:
    call() noexcept { options_.size = sizeof options_; }
    /* The collective happens in this stream; the function returns at once. */
    call &on(void *stream) noexcept
    {
        options_.stream = stream;
        return *this;
    }
    call &label(const char *name) noexcept
    {
        options_.label = name;
        return *this;
    }
    operator const nvs_call *() const noexcept { return &options_; }

  private:
    nvs_call options_ = {};
};

/* The collectives of nvs.h by type. Each is there with and without a team (the world) in front. */

template <typename T>
void broadcast(nvs_team_t members, T *dst, const T *src, std::size_t nelems, int root,
               const nvs_call *call = nullptr)
{
    detail::check(nvs_broadcast(members, dst, src, nelems, dtype_of<T>::value, root, call));
}

template <typename T>
void all_reduce(nvs_team_t members, T *dst, const T *src, std::size_t nelems, nvs_op op = NVS_SUM,
                const nvs_call *call = nullptr)
{
    detail::check(nvs_all_reduce(members, dst, src, nelems, dtype_of<T>::value, op, call));
}

template <typename T> void all_reduce(T *dst, const T *src, std::size_t nelems, nvs_op op = NVS_SUM)
{
    all_reduce(NVS_TEAM_WORLD, dst, src, nelems, op);
}

template <typename T> void all_reduce(T *buf, std::size_t nelems, nvs_op op = NVS_SUM)
{
    all_reduce(NVS_TEAM_WORLD, buf, buf, nelems, op);
}

template <typename T>
void all_gather(nvs_team_t members, T *dst, const T *src, std::size_t nelems,
                const nvs_call *call = nullptr)
{
    detail::check(nvs_all_gather(members, dst, src, nelems, dtype_of<T>::value, call));
}

template <typename T> void all_gather(T *dst, const T *src, std::size_t nelems)
{
    all_gather(NVS_TEAM_WORLD, dst, src, nelems);
}

template <typename T>
void reduce_scatter(nvs_team_t members, T *dst, const T *src, std::size_t nelems,
                    nvs_op op = NVS_SUM, const nvs_call *call = nullptr)
{
    detail::check(nvs_reduce_scatter(members, dst, src, nelems, dtype_of<T>::value, op, call));
}

template <typename T>
void reduce_scatter(T *dst, const T *src, std::size_t nelems, nvs_op op = NVS_SUM)
{
    reduce_scatter(NVS_TEAM_WORLD, dst, src, nelems, op);
}

template <typename T>
void all_to_all(nvs_team_t members, T *dst, const T *src, std::size_t nelems,
                const nvs_call *call = nullptr)
{
    detail::check(nvs_all_to_all(members, dst, src, nelems, dtype_of<T>::value, call));
}

template <typename T> void all_to_all(T *dst, const T *src, std::size_t nelems)
{
    all_to_all(NVS_TEAM_WORLD, dst, src, nelems);
}

/* ---- puts and gets --------------------------------------------------------------------------- */

namespace detail
{

template <typename T> std::size_t bytes_of(std::size_t nelems)
{
    static_assert(std::is_trivially_copyable<T>::value, "puts and gets copy bytes");
    if (nelems > SIZE_MAX / sizeof(T))
        throw error(NVS_ERR_INVALID, "nvs: more elements than memory can hold");
    return nelems * sizeof(T);
}

/* A parameter that does not take part in deduction, so that put(&long_word, 1, pe) compiles. */
template <typename T> struct same {
    using type = T;
};
template <typename T> using given = typename same<T>::type;

} // namespace detail

/* dst is the symmetric address on PE pe; src may be changed on return. */
template <typename T> void put(T *dst, const detail::given<T> *src, std::size_t nelems, int pe)
{
    nvshmem_putmem(dst, src, detail::bytes_of<T>(nelems), pe);
}

template <typename T> void put_nbi(T *dst, const detail::given<T> *src, std::size_t nelems, int pe)
{
    nvshmem_putmem_nbi(dst, src, detail::bytes_of<T>(nelems), pe);
}

template <typename T> void get(T *dst, const detail::given<T> *src, std::size_t nelems, int pe)
{
    nvshmem_getmem(dst, src, detail::bytes_of<T>(nelems), pe);
}

template <typename T> void get_nbi(T *dst, const detail::given<T> *src, std::size_t nelems, int pe)
{
    nvshmem_getmem_nbi(dst, src, detail::bytes_of<T>(nelems), pe);
}

/* One value. */
template <typename T> void put(T *dst, const detail::given<T> &value, int pe)
{
    nvshmem_putmem(dst, &value, detail::bytes_of<T>(1), pe);
}

template <typename T> T get(const T *src, int pe)
{
    T value;
    nvshmem_getmem(&value, src, detail::bytes_of<T>(1), pe);
    return value;
}

/* Data, then a signal: NVSHMEM_SIGNAL_SET or NVSHMEM_SIGNAL_ADD of the word *sig. */
template <typename T>
void put_signal(T *dst, const detail::given<T> *src, std::size_t nelems, std::uint64_t *sig,
                std::uint64_t signal, int sig_op, int pe)
{
    nvshmem_putmem_signal(dst, src, detail::bytes_of<T>(nelems), sig, signal, sig_op, pe);
}

/* Waits until *sig compares (NVSHMEM_CMP_*); returns its value. */
inline std::uint64_t signal_wait_until(std::uint64_t *sig, int cmp, std::uint64_t value)
{
    return nvshmem_signal_wait_until(sig, cmp, value);
}

inline void fence()
{
    nvshmem_fence();
}

inline void quiet()
{
    nvshmem_quiet();
}

/* ---- atomics: integers of 4 or 8 bytes; fetch, set and swap also float and double ------------ */

namespace detail
{

/* The NVSHMEM functions of a word of this size; arithmetic wraps, so that signs do not matter. */
template <std::size_t nbytes> struct word;

template <> struct word<4> {
    using type = std::uint32_t;
    static constexpr auto fetch = nvshmem_uint32_atomic_fetch;
    static constexpr auto set = nvshmem_uint32_atomic_set;
    static constexpr auto swap = nvshmem_uint32_atomic_swap;
    static constexpr auto compare_swap = nvshmem_uint32_atomic_compare_swap;
    static constexpr auto fetch_add = nvshmem_uint32_atomic_fetch_add;
    static constexpr auto fetch_and = nvshmem_uint32_atomic_fetch_and;
    static constexpr auto fetch_or = nvshmem_uint32_atomic_fetch_or;
    static constexpr auto fetch_xor = nvshmem_uint32_atomic_fetch_xor;
};

template <> struct word<8> {
    using type = std::uint64_t;
    static constexpr auto fetch = nvshmem_uint64_atomic_fetch;
    static constexpr auto set = nvshmem_uint64_atomic_set;
    static constexpr auto swap = nvshmem_uint64_atomic_swap;
    static constexpr auto compare_swap = nvshmem_uint64_atomic_compare_swap;
    static constexpr auto fetch_add = nvshmem_uint64_atomic_fetch_add;
    static constexpr auto fetch_and = nvshmem_uint64_atomic_fetch_and;
    static constexpr auto fetch_or = nvshmem_uint64_atomic_fetch_or;
    static constexpr auto fetch_xor = nvshmem_uint64_atomic_fetch_xor;
};

template <typename T> using bits = typename word<sizeof(T)>::type;

template <typename T> bits<T> *word_at(const T *ptr)
{
    static_assert(std::is_arithmetic<T>::value && (sizeof(T) == 4 || sizeof(T) == 8),
                  "atomics are on integers, float and double of 4 or 8 bytes");
    return reinterpret_cast<bits<T> *>(const_cast<T *>(ptr));
}

template <typename To, typename From> To bit_cast(From from)
{
    static_assert(sizeof(To) == sizeof(From), "same size");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

template <typename T> bits<T> *integer_at(T *ptr)
{
    static_assert(std::is_integral<T>::value, "this atomic is on integers only");
    return word_at(ptr);
}

} // namespace detail

template <typename T> T fetch(const T *src, int pe)
{
    return detail::bit_cast<T>(detail::word<sizeof(T)>::fetch(detail::word_at(src), pe));
}

template <typename T> void set(T *dst, detail::given<T> value, int pe)
{
    auto operand = detail::bit_cast<detail::bits<T>>(value);
    detail::word<sizeof(T)>::set(detail::word_at(dst), operand, pe);
}

template <typename T> T swap(T *dst, detail::given<T> value, int pe)
{
    auto operand = detail::bit_cast<detail::bits<T>>(value);
    return detail::bit_cast<T>(detail::word<sizeof(T)>::swap(detail::word_at(dst), operand, pe));
}

/* Stores value if the word equals cond; returns what it was. */
template <typename T> T compare_swap(T *dst, detail::given<T> cond, detail::given<T> value, int pe)
{
    using bits = detail::bits<T>;
    return static_cast<T>(detail::word<sizeof(T)>::compare_swap(
        detail::integer_at(dst), static_cast<bits>(cond), static_cast<bits>(value), pe));
}

template <typename T> T fetch_add(T *dst, detail::given<T> value, int pe)
{
    auto operand = static_cast<detail::bits<T>>(value);
    return static_cast<T>(detail::word<sizeof(T)>::fetch_add(detail::integer_at(dst), operand, pe));
}

template <typename T> T fetch_and(T *dst, detail::given<T> value, int pe)
{
    auto operand = static_cast<detail::bits<T>>(value);
    return static_cast<T>(detail::word<sizeof(T)>::fetch_and(detail::integer_at(dst), operand, pe));
}

template <typename T> T fetch_or(T *dst, detail::given<T> value, int pe)
{
    auto operand = static_cast<detail::bits<T>>(value);
    return static_cast<T>(detail::word<sizeof(T)>::fetch_or(detail::integer_at(dst), operand, pe));
}

template <typename T> T fetch_xor(T *dst, detail::given<T> value, int pe)
{
    auto operand = static_cast<detail::bits<T>>(value);
    return static_cast<T>(detail::word<sizeof(T)>::fetch_xor(detail::integer_at(dst), operand, pe));
}

} // namespace nvs

#endif
