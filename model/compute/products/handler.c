//go:build linux && cgo && amd64

#include "handler.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "xla.h"

// SIZE is the size that XLA expects of a struct: without padding after the last field.
#define SIZE(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// kernel is how a product is computed.
typedef struct {
	int64_t (*scratch)(const product *, int workers);
	int64_t (*tasks)(const product *, int part);
	void (*task)(const product *, int part, int64_t task, int worker);
} kernel;

static const kernel of_product = {product_scratch, product_tasks, product_task};
static const kernel of_norm = {norm_scratch, norm_tasks, norm_task};
static const kernel of_deep = {deep_scratch, deep_tasks, deep_task};

// shared is one part of a product that several threads compute. Threads take the tasks in their
// order. The one that XLA calls waits only for tasks that others have begun, so it does not matter
// when, or whether, the pool runs the helpers.
typedef struct {
	const kernel *k;
	const product *p; // not valid after the last task has ended
	int part;
	int64_t count, share; // tasks, and how many a thread takes at a time
	atomic_int_fast64_t next, ended;
	atomic_int workers, users; // those that have begun, and those that may still use this
	pthread_mutex_t mutex;     // for done
	pthread_cond_t done;
} shared;

// SPINS is for how long a thread waits before it sleeps: to be woken takes longer than most tasks.
enum { SPINS = 2000 };

// take runs tasks until none is left.
static void take(shared *s) {
	int worker = atomic_fetch_add(&s->workers, 1);
	for (int64_t from; (from = atomic_fetch_add(&s->next, s->share)) < s->count;) {
		int64_t to = least(from + s->share, s->count);
		for (int64_t i = from; i < to; i++)
			s->k->task(s->p, s->part, i, worker);
		if (atomic_fetch_add(&s->ended, to - from) + to - from == s->count) {
			pthread_mutex_lock(&s->mutex);
			pthread_cond_signal(&s->done);
			pthread_mutex_unlock(&s->mutex);
		}
	}
}

// wait waits for the tasks that others have begun.
static void wait(shared *s) {
	for (int i = 0; i < SPINS; i++) {
		if (atomic_load(&s->ended) == s->count)
			return;
		__builtin_ia32_pause();
	}
	pthread_mutex_lock(&s->mutex);
	while (atomic_load(&s->ended) < s->count)
		pthread_cond_wait(&s->done, &s->mutex);
	pthread_mutex_unlock(&s->mutex);
}

static void leave(shared *s) {
	if (atomic_fetch_sub(&s->users, 1) == 1) {
		pthread_mutex_destroy(&s->mutex);
		pthread_cond_destroy(&s->done);
		free(s);
	}
}

static void help(void *data) {
	take(data);
	leave(data);
}

// succeeded says whether a call of XLA had no error.
static int succeeded(const XLA_FFI_Api *api, XLA_FFI_Error *error) {
	if (error) {
		XLA_FFI_Error_Destroy_Args args = {SIZE(XLA_FFI_Error_Destroy_Args, error), NULL, error};
		api->Error_Destroy(&args);
	}
	return !error;
}

// run_part computes one part of a product on up to threads threads. It returns 0 where there is no
// memory.
static int run_part(XLA_FFI_CallFrame *f, const kernel *k, const product *p, int part, int64_t threads) {
	int64_t count = k->tasks(p, part);
	threads = least(threads, count);
	if (threads <= 1) {
		for (int64_t i = 0; i < count; i++)
			k->task(p, part, i, 0);
		return 1;
	}
	shared *s = calloc(1, sizeof *s);
	if (!s)
		return 0;
	s->k = k, s->p = p, s->part = part, s->count = count;
	s->share = 1 + count / (16 * threads);
	atomic_init(&s->users, threads);
	pthread_mutex_init(&s->mutex, NULL);
	pthread_cond_init(&s->done, NULL);
	for (int64_t i = 1; i < threads; i++) {
		XLA_FFI_ThreadPool_Schedule_Args schedule = {SIZE(XLA_FFI_ThreadPool_Schedule_Args, data), NULL, f->ctx, help, s};
		if (!succeeded(f->api, f->api->ThreadPool_Schedule(&schedule)))
			leave(s); // in the helper's place: the others do its work
	}
	take(s);
	wait(s);
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

// array is the data of an argument or a result; NULL where there is none of that type and size.
static void *array(const XLA_FFI_Args *args, int64_t i, int dtype, int64_t size) {
	if (i >= args->size || args->types[i] != XLA_FFI_ArgType_BUFFER)
		return NULL;
	const XLA_FFI_Buffer *b = args->args[i];
	if (b->dtype != dtype)
		return NULL;
	int64_t have = 1;
	for (int64_t d = 0; d < b->rank; d++)
		have *= b->dims[d];
	return have == size ? b->data : NULL;
}

// aligned says whether stores past the caches can write an array.
static int aligned(const void *array) { return (uintptr_t)array % 32 == 0; }

// metadata answers XLA's question for the version of its interface: the one in xla.h.
static int metadata(XLA_FFI_CallFrame *f) {
	if (!f->extension_start || f->extension_start->type != XLA_FFI_Extension_Metadata)
		return 0;
	XLA_FFI_Metadata *m = ((XLA_FFI_Metadata_Extension *)f->extension_start)->metadata;
	m->api_version.major_version = 0, m->api_version.minor_version = 1;
	m->traits = 0;
	return 1;
}

// handle computes the product that a call describes.
static XLA_FFI_Error *handle(XLA_FFI_CallFrame *f) {
	if (metadata(f))
		return NULL;
	int64_t role = number(&f->attrs, "role");
	int norm = role >= NORM_LAYER, layer = role == LAYER || role == NORM_LAYER || role == NORM_MEAN;
	int gradient = role != PRODUCT && !layer;
	int given = role == GELU_GRADIENT || role == NORM_GRADIENT;
	const XLA_FFI_Attrs *attrs = &f->attrs;
	product p = {
		.m = number(attrs, "m"), .k = number(attrs, "k"), .n = number(attrs, "n"),
		.transposed_a = number(attrs, "transposed_a"), .transposed_b = number(attrs, "transposed_b"),
		.window = number(attrs, "window"), .steps = number(attrs, "steps"), .repeat = number(attrs, "repeat"),
	};
	int ok = role >= 0 && role <= NORM_GRADIENT && p.m > 0 && p.n > 0 && (given ? p.k == 0 : p.k > 0) && p.transposed_a >= 0 && p.transposed_b >= 0 &&
		 p.window > 0 && p.steps > 0 && p.repeat > 0 && (!norm || p.n <= WIDEST) &&
		 (p.window == 1 || (p.transposed_a ? p.k : p.m) % p.steps == 0) && p.m % p.repeat == 0;
	if (!ok)
		return failed(f, XLA_FFI_Error_Code_INVALID_ARGUMENT, "product: an attribute is missing or out of range");
	// The array of a is as large as the matrix without the window's copies.
	int64_t size_a = p.m * p.k / p.window, size = p.m * p.n, in_blocks = blocks_size(p.m, p.n);
	int i = 0, o = 0; // arguments and results so far
	if (given)
		ok = ok && (p.given = array(&f->args, i++, XLA_FFI_DataType_F32, size / p.repeat));
	else
		ok = ok && (p.a = array(&f->args, i++, XLA_FFI_DataType_BF16, size_a)) &&
		     (p.b = array(&f->args, i++, XLA_FFI_DataType_BF16, p.k * p.n));
	if (layer)
		ok = ok && (p.bias = array(&f->args, i++, XLA_FFI_DataType_F32, p.n));
	if (gradient)
		ok = ok && (p.before = array(&f->args, i++, XLA_FFI_DataType_BF16, in_blocks));
	if (norm && gradient)
		ok = ok && (p.scaled = array(&f->args, i++, XLA_FFI_DataType_F32, p.m));
	if (norm)
		ok = ok && (p.gain = array(&f->args, i++, XLA_FFI_DataType_F32, p.n)) &&
		     (p.shift = array(&f->args, i++, XLA_FFI_DataType_F32, p.n));
	if (role == PRODUCT)
		ok = ok && (p.c = array(&f->rets, o++, XLA_FFI_DataType_F32, size));
	if (layer)
		ok = ok && (p.y = array(&f->rets, o++, XLA_FFI_DataType_BF16, in_blocks)) && aligned(p.y);
	if (role == NORM_MEAN)
		ok = ok && (p.mean = array(&f->rets, o++, XLA_FFI_DataType_F32, size / p.repeat));
	else if (layer)
		ok = ok && (p.active = array(&f->rets, o++, XLA_FFI_DataType_BF16, size)) && aligned(p.active);
	if (norm && layer)
		ok = ok && (p.scale = array(&f->rets, o++, XLA_FFI_DataType_F32, p.m));
	if (gradient)
		ok = ok && (p.du = array(&f->rets, o++, XLA_FFI_DataType_BF16, size)) && aligned(p.du) &&
		     (p.sums = array(&f->rets, o++, XLA_FFI_DataType_F32, norm ? 3 * p.n : p.n));
	if (!ok || f->args.size != i || f->rets.size != o)
		return failed(f, XLA_FFI_Error_Code_INVALID_ARGUMENT, "product: an argument or a result is missing, or has another type or size");
	int64_t threads = 1;
	XLA_FFI_ThreadPool_NumThreads_Args pool = {SIZE(XLA_FFI_ThreadPool_NumThreads_Args, num_threads), NULL, f->ctx, &threads};
	if (!succeeded(f->api, f->api->ThreadPool_NumThreads(&pool)))
		threads = 1; // no pool
	const kernel *k = norm ? &of_norm : deep(&p) ? &of_deep : &of_product;
	int64_t bytes = k->scratch(&p, threads);
	if (!(p.scratch = aligned_alloc(64, (bytes + 63) / 64 * 64)))
		return failed(f, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED, "product: no memory for copies of the factors");
	int enough = 1;
	for (int part = 0; enough && part < PARTS; part++)
		enough = run_part(f, k, &p, part, threads);
	free(p.scratch);
	return enough ? NULL : failed(f, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED, "product: no memory for the tasks");
}

// error_text is the text of an error of PJRT.
static const char *error_text(const PJRT_Api *api, PJRT_Error *error) {
	PJRT_Error_Message_Args message = {SIZE(PJRT_Error_Message_Args, message_size), NULL, error, NULL, 0};
	api->Error_Message(&message);
	static char text[512];
	snprintf(text, sizeof text, "%.*s", (int)message.message_size, message.message);
	return text;
}

const char *register_handler(const char *path) {
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
		PJRT_FFI_Register_Handler_Args args = {SIZE(PJRT_FFI_Register_Handler_Args, traits), TARGET_NAME, strlen(TARGET_NAME),
						       handle, "Host", strlen("Host"), 0};
		PJRT_Error *error = ((PJRT_FFI_Extension *)e)->register_handler(&args);
		return error ? error_text(api, error) : NULL;
	}
	return "the plugin takes no custom calls";
}
