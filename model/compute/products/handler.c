// This file is for amd64 alone.
#ifdef __x86_64__

#include "handler.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "xla.h"

// SIZE is the size that XLA expects of a struct: without padding after the last field.
#define SIZE(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

// kernel is one call of a kernel, a product or a gradient.
typedef struct {
	const void *data;
	int64_t (*tasks)(const void *, int part);
	void (*task)(const void *, int part, int64_t);
} kernel;

// shared is one part of a kernel that several threads compute. Threads take the tasks in their
// order. The one that XLA calls waits only for tasks that others have begun, so it does not matter
// when, or whether, the pool runs the helpers.
typedef struct {
	kernel k; // its data are not valid after the last task has ended
	int part;
	int64_t count;
	pthread_mutex_t mutex;
	pthread_cond_t done;
	int64_t next, ended, users; // under mutex
} shared;

// take runs tasks until none is left.
static void take(shared *s) {
	pthread_mutex_lock(&s->mutex);
	while (s->next < s->count) {
		// A few tasks at a time, fewer toward the end.
		int64_t from = s->next, share = 1 + (s->count - from) / (4 * (s->users + 1));
		s->next += share;
		pthread_mutex_unlock(&s->mutex);
		for (int64_t i = from; i < from + share; i++)
			s->k.task(s->k.data, s->part, i);
		pthread_mutex_lock(&s->mutex);
		s->ended += share;
	}
	if (s->ended == s->count)
		pthread_cond_signal(&s->done);
	pthread_mutex_unlock(&s->mutex);
}

static void leave(shared *s) {
	pthread_mutex_lock(&s->mutex);
	int last = --s->users == 0;
	pthread_mutex_unlock(&s->mutex);
	if (last) {
		pthread_mutex_destroy(&s->mutex);
		pthread_cond_destroy(&s->done);
		free(s);
	}
}

static void help(void *data) {
	take(data);
	leave(data);
}

// run_part computes one part of a kernel on up to threads threads. It returns 0 where there is no
// memory.
static int run_part(XLA_FFI_CallFrame *f, kernel k, int part, int64_t threads) {
	int64_t count = k.tasks(k.data, part);
	shared *s = calloc(1, sizeof *s);
	if (!s)
		return 0;
	s->k = k, s->part = part, s->count = count, s->users = 1;
	pthread_mutex_init(&s->mutex, NULL);
	pthread_cond_init(&s->done, NULL);
	for (int64_t i = 1; i < threads && i < count; i++) {
		pthread_mutex_lock(&s->mutex);
		s->users++;
		pthread_mutex_unlock(&s->mutex);
		XLA_FFI_ThreadPool_Schedule_Args schedule = {SIZE(XLA_FFI_ThreadPool_Schedule_Args, data), NULL, f->ctx, help, s};
		// It fails only without a pool, and then there is one thread.
		f->api->ThreadPool_Schedule(&schedule);
	}
	take(s);
	pthread_mutex_lock(&s->mutex);
	while (s->ended < s->count)
		pthread_cond_wait(&s->done, &s->mutex);
	pthread_mutex_unlock(&s->mutex);
	leave(s);
	return 1;
}

static XLA_FFI_Error *failed(XLA_FFI_CallFrame *f, int code, const char *message) {
	XLA_FFI_Error_Create_Args args = {SIZE(XLA_FFI_Error_Create_Args, errc), NULL, message, code};
	return f->api->Error_Create(&args);
}

// number is an attribute, an int64; -1: there is none of the name.
static int64_t number(const XLA_FFI_Attrs *attrs, const char *name) {
	for (int64_t i = 0; i < attrs->size; i++) {
		const XLA_FFI_ByteSpan *is = attrs->names[i];
		const XLA_FFI_Scalar *scalar = attrs->attrs[i];
		if (is->len == strlen(name) && !memcmp(is->ptr, name, is->len) && attrs->types[i] == XLA_FFI_AttrType_SCALAR &&
		    scalar->dtype == XLA_FFI_DataType_S64)
			return *(const int64_t *)scalar->value;
	}
	return -1;
}

// array is the data of an argument or a result; NULL where it has not that type and size.
static void *array(const XLA_FFI_Args *args, int64_t i, int dtype, int64_t size) {
	const XLA_FFI_Buffer *b = args->args[i];
	if (args->types[i] != XLA_FFI_ArgType_BUFFER || b->dtype != dtype)
		return NULL;
	int64_t have = 1;
	for (int64_t d = 0; d < b->rank; d++)
		have *= b->dims[d];
	return have == size ? b->data : NULL;
}

// metadata answers XLA's question for the version of its interface: the one in xla.h.
static int metadata(XLA_FFI_CallFrame *f) {
	if (!f->extension_start || f->extension_start->type != XLA_FFI_Extension_Metadata)
		return 0;
	XLA_FFI_Metadata *m = ((XLA_FFI_Metadata_Extension *)f->extension_start)->metadata;
	m->api_version.major_version = 0, m->api_version.minor_version = 1;
	m->traits = 0;
	return 1;
}

// run computes a kernel.
static XLA_FFI_Error *run(XLA_FFI_CallFrame *f, kernel k) {
	int64_t threads = 1;
	XLA_FFI_ThreadPool_NumThreads_Args pool = {SIZE(XLA_FFI_ThreadPool_NumThreads_Args, num_threads), NULL, f->ctx, &threads};
	f->api->ThreadPool_NumThreads(&pool); // without a pool it leaves one thread
	for (int part = 0; part < PARTS; part++)
		if (!run_part(f, k, part, threads))
			return failed(f, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED, "no memory for a kernel's tasks");
	return NULL;
}

// multiply runs a product, and a layer where there is a bias.
static XLA_FFI_Error *multiply(XLA_FFI_CallFrame *f, int layer) {
	const XLA_FFI_Attrs *attrs = &f->attrs;
	product p = {.m = number(attrs, "m"), .k = number(attrs, "k"), .n = number(attrs, "n")};
	int64_t a = number(attrs, "transposed_a"), b = number(attrs, "transposed_b");
	if (p.m < 1 || p.k < 1 || p.n < 1 || a < 0 || b < 0 || f->args.size != 2 + layer || f->rets.size != 1 + layer)
		return failed(f, XLA_FFI_Error_Code_INVALID_ARGUMENT, "product: attributes, arguments or results are missing");
	p.transposed_a = a, p.transposed_b = b;
	p.a = array(&f->args, 0, XLA_FFI_DataType_BF16, p.m * p.k);
	p.b = array(&f->args, 1, XLA_FFI_DataType_BF16, p.k * p.n);
	p.c = array(&f->rets, 0, XLA_FFI_DataType_F32, p.m * p.n);
	if (layer) {
		p.bias = array(&f->args, 2, XLA_FFI_DataType_F32, p.n);
		p.active = array(&f->rets, 1, XLA_FFI_DataType_BF16, p.m * p.n);
	}
	if (!p.a || !p.b || !p.c || (layer && (!p.bias || !p.active)))
		return failed(f, XLA_FFI_Error_Code_INVALID_ARGUMENT, "product: an array has another type or size");
	int64_t a_bytes = packed_a_bytes(&p), b_bytes = packed_b_bytes(&p);
	char *packed = aligned_alloc(64, a_bytes + b_bytes);
	if (!packed && a_bytes + b_bytes > 0)
		return failed(f, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED, "product: no memory for copies of the factors");
	p.packed_a = (uint32_t *)packed, p.packed_b = (uint32_t *)(packed + a_bytes);
	XLA_FFI_Error *error = run(f, (kernel){&p, product_tasks, product_task});
	free(packed);
	return error;
}

static XLA_FFI_Error *handle_product(XLA_FFI_CallFrame *f) { return metadata(f) ? NULL : multiply(f, 0); }
static XLA_FFI_Error *handle_layer(XLA_FFI_CallFrame *f) { return metadata(f) ? NULL : multiply(f, 1); }

static XLA_FFI_Error *handle_gradient(XLA_FFI_CallFrame *f) {
	if (metadata(f))
		return NULL;
	gelu_gradient g = {.m = number(&f->attrs, "m"), .n = number(&f->attrs, "n")};
	if (g.m < 1 || g.n < 1 || f->args.size != 2 || f->rets.size != 2)
		return failed(f, XLA_FFI_Error_Code_INVALID_ARGUMENT, "gradient: attributes, arguments or results are missing");
	g.dy = array(&f->args, 0, XLA_FFI_DataType_F32, g.m * g.n);
	g.x = array(&f->args, 1, XLA_FFI_DataType_F32, g.m * g.n);
	g.dx = array(&f->rets, 0, XLA_FFI_DataType_BF16, g.m * g.n);
	g.sums = array(&f->rets, 1, XLA_FFI_DataType_F32, g.n);
	if (!g.dy || !g.x || !g.dx || !g.sums)
		return failed(f, XLA_FFI_Error_Code_INVALID_ARGUMENT, "gradient: an array has another type or size");
	if (!(g.partial = aligned_alloc(64, partial_bytes(&g))))
		return failed(f, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED, "gradient: no memory for sums");
	XLA_FFI_Error *error = run(f, (kernel){&g, gradient_tasks, gradient_task});
	free(g.partial);
	return error;
}

// handlers by the names of their targets.
static const struct {
	const char *target;
	XLA_FFI_Handler *handler;
} handlers[] = {{PRODUCT_TARGET, handle_product}, {LAYER_TARGET, handle_layer}, {GRADIENT_TARGET, handle_gradient}};

// error_text is the text of an error of PJRT.
static const char *error_text(const PJRT_Api *api, PJRT_Error *error) {
	PJRT_Error_Message_Args message = {SIZE(PJRT_Error_Message_Args, message_size), NULL, error, NULL, 0};
	api->Error_Message(&message);
	static char text[512];
	snprintf(text, sizeof text, "%.*s", (int)message.message_size, message.message);
	return text;
}

const char *register_handlers(const char *path) {
	void *plugin = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	if (!plugin)
		return "the plugin is not loaded";
	const PJRT_Api *(*get)(void) = (const PJRT_Api *(*)(void))dlsym(plugin, "GetPjrtApi");
	const PJRT_Api *api = get ? get() : NULL;
	if (!api)
		return "the plugin has no PJRT interface";
	for (PJRT_Extension_Base *e = api->extension_start; e; e = e->next) {
		if (e->type != PJRT_Extension_Type_FFI || e->struct_size < sizeof(PJRT_FFI_Extension))
			continue;
		for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++) {
			PJRT_FFI_Register_Handler_Args args = {SIZE(PJRT_FFI_Register_Handler_Args, traits),
							       handlers[i].target, strlen(handlers[i].target),
							       handlers[i].handler, "Host", strlen("Host"), 0};
			PJRT_Error *error = ((PJRT_FFI_Extension *)e)->register_handler(&args);
			if (error)
				return error_text(api, error);
		}
		return NULL;
	}
	return "the plugin takes no custom calls";
}

#endif
