/*
 * visibility.h - marks what libnvs.so exports. Everything else in it is hidden.
 */
#ifndef NVS_VISIBILITY_H
#define NVS_VISIBILITY_H

#if defined(__GNUC__)
#define NVS_API __attribute__((visibility("default")))
#define NVS_NORETURN __attribute__((noreturn))
#else
#define NVS_API
#define NVS_NORETURN
#endif

#endif
