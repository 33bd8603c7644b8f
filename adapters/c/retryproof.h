/*
 * Lets the retryproof runner drive a C program: speaks the adapter protocol, version 1, on stdin
 * and stdout. Whatever the program itself prints goes to stderr. Needs POSIX and nothing else.
 *
 * Include it in one source file, the one that calls retryproof_serve. On a system that hides
 * POSIX behind feature macros, define _POSIX_C_SOURCE as 200809L before the first include.
 */
#ifndef RETRYPROOF_H
#define RETRYPROOF_H

#include <ctype.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One request for the service: at tick `at`, send `value` under `key`. */
struct retryproof_operation {
    int at;
    const char *key;
    const char *value;
    bool lost; /* the service's response does not reach its caller */
};

/* What the caller saw, and the writes measured apart from it. A lost response has neither status
 * nor receipt. */
struct retryproof_observation {
    int status;  /* 0: none */
    int receipt; /* the ordinal of the write that the response names; 0: none */
    int committed_writes;
};

/* Connects a service. Both functions return 0, or else what retryproof_fail returns. `reset`
 * empties the service and puts its clock to tick 0. */
struct retryproof_adapter {
    const char *name;
    void *context;
    int (*reset)(void *context);
    int (*step)(void *context, const struct retryproof_operation *operation,
                struct retryproof_observation *observation);
    /* For a service without a test clock, else 0: the runner then waits in real time. */
    int milliseconds_per_tick;
};

enum {
    RETRYPROOF_PROTOCOL_VERSION = 1,
    RETRYPROOF_MAX_LINE = 1024 * 1024,
    RETRYPROOF_MAX_DEPTH = 100,
    RETRYPROOF_PARSE_ERROR = -32700,
    RETRYPROOF_INVALID_REQUEST = -32600,
    RETRYPROOF_METHOD_NOT_FOUND = -32601,
    RETRYPROOF_INVALID_PARAMS = -32602,
    RETRYPROOF_ADAPTER_FAILED = -32000
};

struct retryproof_request {
    const char *id;
    size_t id_length;
    const char *method;
    bool has_operation;
    struct retryproof_operation operation;
};

static char retryproof_failure[4096];

/* Notes why a call failed, as printf would print it, and returns a code for it. */
#ifdef __GNUC__
__attribute__((format(printf, 1, 2)))
#endif
static int retryproof_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(retryproof_failure, sizeof retryproof_failure, format, arguments);
    va_end(arguments);
    return RETRYPROOF_ADAPTER_FAILED;
}

/* The number of bytes of the UTF-8 character at `text`, or 0 if there is none. */
static size_t retryproof_utf8_length(const char *text)
{
    const unsigned char *byte = (const unsigned char *)text;
    size_t length = byte[0] < 0x80   ? 1
                    : byte[0] < 0xC2 ? 0
                    : byte[0] < 0xE0 ? 2
                    : byte[0] < 0xF0 ? 3
                    : byte[0] < 0xF5 ? 4
                                     : 0;
    for (size_t i = 1; i < length; i++) {
        if ((byte[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (byte[0] == 0xE0 && byte[1] < 0xA0) || (byte[0] == 0xF0 && byte[1] < 0x90);
    bool surrogate = byte[0] == 0xED && byte[1] >= 0xA0;
    bool too_large = byte[0] == 0xF4 && byte[1] >= 0x90;
    return overlong || surrogate || too_large ? 0 : length;
}

static size_t retryproof_put_utf8(char *target, unsigned long character)
{
    if (character < 0x80) {
        target[0] = (char)character;
        return 1;
    }
    size_t length = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--) {
        target[i] = (char)(0x80 | (character & 0x3F));
        character >>= 6;
    }
    target[0] = (char)((0xF00 >> length & 0xFF) | character);
    return length;
}

static void retryproof_write_quoted(FILE *answers, const char *text)
{
    putc('"', answers);
    while (*text != '\0') {
        size_t length = retryproof_utf8_length(text);
        if (length == 0) {
            fputs("\\ufffd", answers);
            text++;
        } else if (*text == '"' || *text == '\\' || (unsigned char)*text < ' ') {
            fprintf(answers, "\\u%04x", (unsigned)*text++);
        } else {
            fwrite(text, 1, length, answers);
            text += length;
        }
    }
    putc('"', answers);
}

/* The parser goes through the line once and decodes strings in place, where they only shrink.
 * Each function gets the position in `*at`, moves it on, and says whether it found its form. */

static void retryproof_skip_space(char **at)
{
    *at += strspn(*at, " \t\r\n");
}

static bool retryproof_skip(char **at, const char *text)
{
    size_t length = strlen(text);
    bool found = strncmp(*at, text, length) == 0;
    *at += found ? length : 0;
    return found;
}

static bool retryproof_skip_digits(char **at)
{
    size_t length = strspn(*at, "0123456789");
    *at += length;
    return length > 0;
}

static bool retryproof_skip_number(char **at)
{
    retryproof_skip(at, "-");
    if (!retryproof_skip(at, "0") && !retryproof_skip_digits(at)) {
        return false;
    }
    if (retryproof_skip(at, ".") && !retryproof_skip_digits(at)) {
        return false;
    }
    if (retryproof_skip(at, "e") || retryproof_skip(at, "E")) {
        *at += **at == '+' || **at == '-';
        return retryproof_skip_digits(at);
    }
    return true;
}

static bool retryproof_hex4(char **at, unsigned long *unit)
{
    char digits[5] = "";
    for (int i = 0; i < 4; i++) {
        if (!isxdigit((unsigned char)(*at)[i])) {
            return false;
        }
        digits[i] = (*at)[i];
    }
    *at += 4;
    *unit = strtoul(digits, NULL, 16);
    return true;
}

/* The character of one \u, or of two that are a surrogate pair. */
static bool retryproof_utf16(char **at, unsigned long *character)
{
    if (!retryproof_hex4(at, character)) {
        return false;
    }
    char *after_first = *at;
    unsigned long second;
    if (*character >= 0xD800 && *character < 0xDC00 && retryproof_skip(at, "\\u") &&
        retryproof_hex4(at, &second) && second >= 0xDC00 && second < 0xE000) {
        *character = 0x10000 + ((*character - 0xD800) << 10) + (second - 0xDC00);
        return true;
    }
    *at = after_first;
    bool half_a_pair = *character >= 0xD800 && *character < 0xE000;
    /* A C string ends at a zero: it can't hold one. */
    if (half_a_pair || *character == 0) {
        *character = 0xFFFD;
    }
    return true;
}

static bool retryproof_string(char **at, const char **text)
{
    if (!retryproof_skip(at, "\"")) {
        return false;
    }
    char *end = *at;
    *text = end;
    while (**at != '"') {
        size_t length = retryproof_utf8_length(*at);
        if (length == 0 || (unsigned char)**at < ' ') {
            return false;
        }
        if (**at != '\\') {
            memmove(end, *at, length);
            *at += length;
            end += length;
            continue;
        }
        static const char kinds[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
        char kind = (*at)[1];
        const char *known = kind == '\0' ? NULL : strchr(kinds, kind);
        unsigned long character = known == NULL ? 0 : (unsigned char)meanings[known - kinds];
        *at += 2;
        if (known == NULL && (kind != 'u' || !retryproof_utf16(at, &character))) {
            return false;
        }
        end += retryproof_put_utf8(end, character);
    }
    ++*at;
    *end = '\0';
    return true;
}

typedef bool retryproof_member(char **at, const char *name, int depth, void *context);

static bool retryproof_container(char **at, int depth, retryproof_member *member, void *context);

static bool retryproof_skip_value(char **at, int depth)
{
    const char *ignored;
    switch (**at) {
    case '{':
    case '[':
        return retryproof_container(at, depth + 1, NULL, NULL);
    case '"':
        return retryproof_string(at, &ignored);
    default:
        return retryproof_skip(at, "null") || retryproof_skip(at, "true") ||
               retryproof_skip(at, "false") || retryproof_skip_number(at);
    }
}

/* An object or array. `member`, if any, takes the values of an object's members. */
static bool retryproof_container(char **at, int depth, retryproof_member *member, void *context)
{
    bool is_object = *(*at)++ == '{';
    const char *close = is_object ? "}" : "]";
    /* Hostile nesting must not overflow the stack. */
    if (depth > RETRYPROOF_MAX_DEPTH) {
        return false;
    }
    retryproof_skip_space(at);
    if (retryproof_skip(at, close)) {
        return true;
    }
    do {
        const char *name = NULL;
        retryproof_skip_space(at);
        if (is_object) {
            if (!retryproof_string(at, &name)) {
                return false;
            }
            retryproof_skip_space(at);
            if (!retryproof_skip(at, ":")) {
                return false;
            }
            retryproof_skip_space(at);
        }
        bool wanted = is_object && member != NULL;
        if (!(wanted ? member(at, name, depth, context) : retryproof_skip_value(at, depth))) {
            return false;
        }
        retryproof_skip_space(at);
    } while (retryproof_skip(at, ","));
    return retryproof_skip(at, close);
}

/* A string for `text`, or anything else, for which it is NULL. */
static bool retryproof_text_or_skip(char **at, int depth, const char **text)
{
    *text = NULL;
    return **at == '"' ? retryproof_string(at, text) : retryproof_skip_value(at, depth);
}

struct retryproof_params {
    char *at;
    const char *key, *value, *delivery;
};

static bool retryproof_params_member(char **at, const char *name, int depth, void *context)
{
    struct retryproof_params *params = context;
    if (strcmp(name, "at") == 0) {
        params->at = *at;
    } else if (strcmp(name, "key") == 0) {
        return retryproof_text_or_skip(at, depth, &params->key);
    } else if (strcmp(name, "value") == 0) {
        return retryproof_text_or_skip(at, depth, &params->value);
    } else if (strcmp(name, "delivery") == 0) {
        return retryproof_text_or_skip(at, depth, &params->delivery);
    }
    return retryproof_skip_value(at, depth);
}

static bool retryproof_request_member(char **at, const char *name, int depth, void *context)
{
    struct retryproof_request *request = context;
    if (strcmp(name, "method") == 0) {
        return retryproof_text_or_skip(at, depth, &request->method);
    }
    if (strcmp(name, "id") == 0) {
        bool is_number = **at == '-' || isdigit((unsigned char)**at);
        char *start = *at;
        if (!retryproof_skip_value(at, depth)) {
            return false;
        }
        request->id = is_number ? start : "null";
        request->id_length = is_number ? (size_t)(*at - start) : strlen("null");
        return true;
    }
    if (strcmp(name, "params") == 0 && **at == '{') {
        struct retryproof_params params = {0};
        if (!retryproof_container(at, depth + 1, retryproof_params_member, &params)) {
            return false;
        }
        bool is_lost = params.delivery != NULL && strcmp(params.delivery, "lost") == 0;
        bool is_received = params.delivery != NULL && strcmp(params.delivery, "received") == 0;
        request->has_operation = params.at != NULL && isdigit((unsigned char)*params.at) &&
                                 params.key != NULL && params.value != NULL &&
                                 (is_lost || is_received);
        if (request->has_operation) {
            request->operation.at = (int)strtol(params.at, NULL, 10);
            request->operation.key = params.key;
            request->operation.value = params.value;
            request->operation.lost = is_lost;
        }
        return true;
    }
    return retryproof_skip_value(at, depth);
}

static int retryproof_refuse(int code, const char *message)
{
    retryproof_fail("%s", message);
    return code;
}

/* Reads the request in `line`; 0, or the code of a refusal. */
static int retryproof_parse(char *line, size_t length, struct retryproof_request *request)
{
    if (length > RETRYPROOF_MAX_LINE) {
        return retryproof_refuse(RETRYPROOF_INVALID_REQUEST,
                                 "the request line is longer than 1 MiB");
    }
    char *at = line;
    retryproof_skip_space(&at);
    bool is_object = *at == '{';
    bool is_json = is_object ? retryproof_container(&at, 1, retryproof_request_member, request)
                             : retryproof_skip_value(&at, 0);
    retryproof_skip_space(&at);
    if (!is_json || at != line + length) {
        *request = (struct retryproof_request){.id = "null", .id_length = strlen("null")};
        return retryproof_refuse(RETRYPROOF_PARSE_ERROR, "the request line is not JSON");
    }
    if (request->method == NULL) {
        return retryproof_refuse(RETRYPROOF_INVALID_REQUEST, "the request has no method");
    }
    return 0;
}

static void retryproof_write_identity(FILE *answers, const struct retryproof_adapter *adapter)
{
    fprintf(answers, "{\"protocolVersion\":%d,\"adapter\":{\"name\":",
            RETRYPROOF_PROTOCOL_VERSION);
    retryproof_write_quoted(answers, adapter->name);
    fputs(",\"language\":\"C\"},\"capabilities\":{", answers);
    if (adapter->milliseconds_per_tick > 0) {
        fprintf(answers, "\"clock\":{\"secondsPerTick\":%d.%03d}",
                adapter->milliseconds_per_tick / 1000, adapter->milliseconds_per_tick % 1000);
    }
    fputs("}}", answers);
}

static void retryproof_write_number_or_null(FILE *answers, const char *name, int number)
{
    if (number == 0) {
        fprintf(answers, "\"%s\":null,", name);
    } else {
        fprintf(answers, "\"%s\":%d,", name, number);
    }
}

static void retryproof_write_observation(FILE *answers,
                                         const struct retryproof_observation *observation)
{
    putc('{', answers);
    retryproof_write_number_or_null(answers, "status", observation->status);
    retryproof_write_number_or_null(answers, "receipt", observation->receipt);
    fprintf(answers, "\"committedWrites\":%d}", observation->committed_writes);
}

/* Makes the call that was asked for; 0, or the code of its error. */
static int retryproof_call(const struct retryproof_adapter *adapter,
                           const struct retryproof_request *request,
                           struct retryproof_observation *observation)
{
    const char *method = request->method;
    if (strcmp(method, "initialize") == 0 || strcmp(method, "shutdown") == 0) {
        return 0;
    }
    if (strcmp(method, "reset") == 0) {
        return adapter->reset(adapter->context) == 0 ? 0 : RETRYPROOF_ADAPTER_FAILED;
    }
    if (strcmp(method, "step") == 0) {
        if (!request->has_operation) {
            return retryproof_refuse(RETRYPROOF_INVALID_PARAMS,
                                     "the operation lacks at, key, value or delivery");
        }
        int failed = adapter->step(adapter->context, &request->operation, observation);
        return failed == 0 ? 0 : RETRYPROOF_ADAPTER_FAILED;
    }
    retryproof_fail("no such method: %s", method);
    return RETRYPROOF_METHOD_NOT_FOUND;
}

/* Answers the request in `line`; whether it was the last one. */
static bool retryproof_respond(FILE *answers, const struct retryproof_adapter *adapter,
                               char *line, size_t length)
{
    struct retryproof_request request = {.id = "null", .id_length = strlen("null")};
    struct retryproof_observation observation = {0};
    retryproof_failure[0] = '\0';
    int code = retryproof_parse(line, length, &request);
    if (code == 0) {
        code = retryproof_call(adapter, &request, &observation);
    }
    fprintf(answers, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,", (int)request.id_length, request.id);
    if (code != 0) {
        fprintf(stderr, "%s\n", retryproof_failure);
        fprintf(answers, "\"error\":{\"code\":%d,\"message\":", code);
        retryproof_write_quoted(answers, retryproof_failure);
        putc('}', answers);
    } else {
        fputs("\"result\":", answers);
        if (strcmp(request.method, "initialize") == 0) {
            retryproof_write_identity(answers, adapter);
        } else if (strcmp(request.method, "step") == 0) {
            retryproof_write_observation(answers, &observation);
        } else {
            fputs("null", answers);
        }
    }
    fputs("}\n", answers);
    fflush(answers);
    return code == 0 && strcmp(request.method, "shutdown") == 0;
}

/* Reads a line without its end into `line`, cut where it is too long; false at the end. */
static bool retryproof_read_line(FILE *requests, char *line, size_t *length)
{
    int byte;
    *length = 0;
    while ((byte = getc(requests)) != '\n') {
        if (byte == EOF) {
            return false;
        }
        if (*length < RETRYPROOF_MAX_LINE + 2) {
            line[(*length)++] = (char)byte;
        }
    }
    if (*length > 0 && line[*length - 1] == '\r') {
        --*length;
    }
    line[*length] = '\0';
    return true;
}

/* The protocol's own copies of stdin and stdout. What anybody else prints, child processes
 * included, goes to stderr, and nobody else can read a request away. */
static bool retryproof_take_over_stdio(FILE **requests, FILE **answers)
{
    int nothing = open("/dev/null", O_RDONLY);
    *requests = fdopen(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), "r");
    *answers = fdopen(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), "w");
    bool redirected = *requests != NULL && *answers != NULL && nothing >= 0 &&
                      dup2(nothing, STDIN_FILENO) >= 0 &&
                      dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    return redirected;
}

/* Answers the runner's requests until it says `shutdown` or closes stdin. Returns what main
 * should. */
static int retryproof_serve(const struct retryproof_adapter *adapter)
{
    static char line[RETRYPROOF_MAX_LINE + 3];
    FILE *requests, *answers;
    if (!retryproof_take_over_stdio(&requests, &answers)) {
        perror("retryproof: can't take over stdin and stdout");
        return EXIT_FAILURE;
    }
    size_t length;
    while (retryproof_read_line(requests, line, &length)) {
        if (retryproof_respond(answers, adapter, line, length)) {
            break;
        }
    }
    return EXIT_SUCCESS;
}

#endif
