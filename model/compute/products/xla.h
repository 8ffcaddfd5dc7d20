// The parts of XLA's C interface for custom calls that handler.c uses. Names and layouts are
// those of xla/ffi/api/c_api.h, version 0.1 and later of major version 0, and of
// xla/pjrt/c/pjrt_c_api_ffi_extension.h and pjrt_c_api.h, by the OpenXLA authors, Apache-2.0.

#ifndef ERGOFLOW_PRODUCTS_XLA_H_
#define ERGOFLOW_PRODUCTS_XLA_H_

#include <stddef.h>
#include <stdint.h>

typedef struct XLA_FFI_Error XLA_FFI_Error;
typedef struct XLA_FFI_ExecutionContext XLA_FFI_ExecutionContext;

typedef struct XLA_FFI_Extension_Base {
	size_t struct_size;
	int type;
	struct XLA_FFI_Extension_Base *next;
} XLA_FFI_Extension_Base;

enum { XLA_FFI_Extension_Metadata = 1 };

typedef struct {
	size_t struct_size;
	XLA_FFI_Extension_Base *extension_start;
	int major_version, minor_version;
} XLA_FFI_Api_Version;

typedef struct {
	size_t struct_size;
	XLA_FFI_Api_Version api_version;
	uint32_t traits;
} XLA_FFI_Metadata;

typedef struct {
	XLA_FFI_Extension_Base extension_base;
	XLA_FFI_Metadata *metadata;
} XLA_FFI_Metadata_Extension;

enum { XLA_FFI_Error_Code_INVALID_ARGUMENT = 3, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED = 8 };

typedef struct {
	size_t struct_size;
	XLA_FFI_Extension_Base *extension_start;
	const char *message;
	int errc;
} XLA_FFI_Error_Create_Args;

typedef struct {
	size_t struct_size;
	XLA_FFI_Extension_Base *extension_start;
	XLA_FFI_Error *error;
} XLA_FFI_Error_Destroy_Args;

enum { XLA_FFI_DataType_S64 = 5, XLA_FFI_DataType_F32 = 11, XLA_FFI_DataType_BF16 = 16 };

typedef struct {
	size_t struct_size;
	XLA_FFI_Extension_Base *extension_start;
	int dtype;
	void *data;
	int64_t rank;
	int64_t *dims;
} XLA_FFI_Buffer;

enum { XLA_FFI_ArgType_BUFFER = 1, XLA_FFI_AttrType_SCALAR = 3 };

typedef struct {
	const char *ptr;
	size_t len;
} XLA_FFI_ByteSpan;

typedef struct {
	int dtype;
	void *value;
} XLA_FFI_Scalar;

// XLA_FFI_Args, and XLA_FFI_Rets, which is alike.
typedef struct {
	size_t struct_size;
	XLA_FFI_Extension_Base *extension_start;
	int64_t size;
	int *types;
	void **args;
} XLA_FFI_Args;

typedef struct {
	size_t struct_size;
	XLA_FFI_Extension_Base *extension_start;
	int64_t size;
	int *types;
	XLA_FFI_ByteSpan **names;
	void **attrs;
} XLA_FFI_Attrs;

typedef void XLA_FFI_Task(void *data);

typedef struct {
	size_t struct_size;
	XLA_FFI_Extension_Base *extension_start;
	XLA_FFI_ExecutionContext *ctx;
	XLA_FFI_Task *task;
	void *data;
} XLA_FFI_ThreadPool_Schedule_Args;

typedef struct {
	size_t struct_size;
	XLA_FFI_Extension_Base *extension_start;
	XLA_FFI_ExecutionContext *ctx;
	int64_t *num_threads;
} XLA_FFI_ThreadPool_NumThreads_Args;

typedef struct {
	size_t struct_size;
	XLA_FFI_Extension_Base *extension_start;
	XLA_FFI_Api_Version api_version;
	const void *internal_api;
	XLA_FFI_Error *(*Error_Create)(XLA_FFI_Error_Create_Args *);
	void *Error_GetMessage;
	void (*Error_Destroy)(XLA_FFI_Error_Destroy_Args *);
	void *Handler_Register, *Stream_Get, *Type_Register;
	void *ExecutionContext_Get, *State_Set, *State_Get, *DeviceMemory_Allocate, *DeviceMemory_Free;
	XLA_FFI_Error *(*ThreadPool_Schedule)(XLA_FFI_ThreadPool_Schedule_Args *);
	XLA_FFI_Error *(*ThreadPool_NumThreads)(XLA_FFI_ThreadPool_NumThreads_Args *);
} XLA_FFI_Api;

enum { XLA_FFI_ExecutionStage_EXECUTE = 3 };

typedef struct {
	size_t struct_size;
	XLA_FFI_Extension_Base *extension_start;
	const XLA_FFI_Api *api;
	XLA_FFI_ExecutionContext *ctx;
	int stage;
	XLA_FFI_Args args, rets;
	XLA_FFI_Attrs attrs;
} XLA_FFI_CallFrame;

typedef XLA_FFI_Error *XLA_FFI_Handler(XLA_FFI_CallFrame *);

typedef struct PJRT_Error PJRT_Error;

typedef struct PJRT_Extension_Base {
	size_t struct_size;
	int type;
	struct PJRT_Extension_Base *next;
} PJRT_Extension_Base;

enum { PJRT_Extension_Type_FFI = 5 };

typedef struct {
	size_t struct_size;
	const char *target_name;
	size_t target_name_size;
	XLA_FFI_Handler *handler;
	const char *platform_name;
	size_t platform_name_size;
	int traits;
} PJRT_FFI_Register_Handler_Args;

typedef struct {
	PJRT_Extension_Base base;
	void *type_register, *user_data_add;
	PJRT_Error *(*register_handler)(PJRT_FFI_Register_Handler_Args *);
} PJRT_FFI_Extension;

typedef struct {
	size_t struct_size;
	void *extension_start;
	PJRT_Error *error;
	const char *message;
	size_t message_size;
} PJRT_Error_Message_Args;

typedef struct {
	size_t struct_size;
	PJRT_Extension_Base *extension_start;
	size_t version_struct_size;
	void *version_extension_start;
	int major_version, minor_version;
	void *Error_Destroy;
	void (*Error_Message)(PJRT_Error_Message_Args *);
} PJRT_Api;

#endif
