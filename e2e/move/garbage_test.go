package move

import (
	"regexp"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// fieldSchema is the schema of a field.
type fieldSchema = apiextensionsv1.JSONSchemaProps

// words are values that some string fields accept. The first word that fits a schema is its valid value.
var words = []string{
	"a", "1h", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.123456Z", "1", "100%", "22:30", "/a", "https://a", "AAAA", "apps/v1", "1-2", "a.example/b", "*", "1Gi", "Application/argocd/web",
}

// junk lists strings that decoders refuse, each for another reason.
var junk = []any{
	"", " ", "half", "two", "30", "1d", "1 day", "2 days", "5m", "-5m", "99999999999999999999h", "9999999h", "1h1h1h1h1h1h1h1h1h1h", "1e99", "1E+99", "1e1.5", "1e99999999999", ".", "1e2147483647",
	"9223372036854775808", "5000000000", "2026-02-31T00:00:00Z", "2025-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-01t00:00:00z", "2026-01-01T00:00:00", "2026-01-01T00:00:00x5Z", "2026-01-01T24:00:00Z", "2026-01-01T00:00:60Z",
	"2026-01-01T00:00:00ZTgarbage", "2026-01-01T00:00:00.123Z", "2026-01-01T00:00:00+99:99", "2026-01-01T00:00:00,5Z", "=", "A", "AAA\n=", "null", "\u202e",
}

// numbers lists numbers that are out of range for some type, or that some type cannot represent.
var numbers = []any{
	0, 1, -1, int64(1) << 31, -(int64(1) << 31) - 1, int64(5_000_000_000), int64(1)<<62 - 1, float64(1 << 63), 1e19, 1e30, -1e30, 1e99, 1.5, 1e300,
}

// others lists values of types that no field has.
var others = []any{true, nil, []any{}, []any{1}, []any{"a", nil}, []any{map[string]any{}}, map[string]any{}, map[string]any{"a": 1}, map[string]any{"a": "b"}, map[string]any{"a": map[string]any{"b": []any{1}}}}

// rawJobs lists invalid Job specs for fields without a schema.
var rawJobs = []any{
	map[string]any{"backoffLimit": "two"},
	map[string]any{"activeDeadlineSeconds": "5m"},
	map[string]any{"template": 5},
	map[string]any{"backoffLimit": 1e30},
	map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "a", "env": []any{map[string]any{"name": "PORT", "value": 5432}}}}}}},
	map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"resources": map[string]any{"limits": map[string]any{"cpu": "half"}}}}}}},
	map[string]any{"template": map[string]any{"metadata": map[string]any{"creationTimestamp": "never"}}},
}

// field is a field of a kind. Its path consists of names, "[]" for an element of a list and "{}" for a value of
// a map.
type field struct {
	path   []string
	schema fieldSchema
}

// fieldsOf returns all fields below a schema, including the schema itself.
func fieldsOf(of fieldSchema, path []string) []field {
	all := []field{{slices.Clone(path), of}}
	for name, child := range of.Properties {
		all = append(all, fieldsOf(child, append(path, name))...)
	}
	if of.Items != nil && (of.MaxItems == nil || *of.MaxItems > 0) {
		all = append(all, fieldsOf(*of.Items.Schema, append(path, "[]"))...)
	}
	if of.AdditionalProperties != nil && of.AdditionalProperties.Schema != nil {
		all = append(all, fieldsOf(*of.AdditionalProperties.Schema, append(path, "{}"))...)
	}
	return all
}

// values returns the values to write into a field: garbage and values that the field accepts.
func (f field) values() []any {
	all := append([]any{good(f.schema)}, others...)
	for _, each := range f.schema.Enum {
		all = append(all, string(each.Raw[1:len(each.Raw)-1]))
	}
	if f.schema.XPreserveUnknownFields != nil {
		all = append(all, rawJobs...)
	}
	if f.schema.Type == "string" || f.schema.XIntOrString {
		for _, word := range words {
			all = append(all, word)
		}
		all = append(all, junk...)
	}
	if f.schema.Type == "string" {
		return append(all, 1, 1e30)
	}
	if f.schema.Type == "integer" || f.schema.XIntOrString {
		return append(append(all, numbers...), "1", "a")
	}
	return append(all, 1, "a", 1e30)
}

// good returns a value that a schema accepts, with all required fields.
func good(of fieldSchema) any {
	switch {
	case len(of.Enum) > 0:
		return string(of.Enum[0].Raw[1 : len(of.Enum[0].Raw)-1])
	case of.XIntOrString, of.Type == "integer":
		if of.Minimum != nil && *of.Minimum > 1 {
			return int64(*of.Minimum)
		}
		return 1
	case of.Type == "boolean":
		return true
	case of.Type == "array":
		if of.MinItems != nil && *of.MinItems > 0 {
			return []any{good(*of.Items.Schema)}
		}
		return []any{}
	case of.Type == "object":
		return required(of)
	default:
		return word(of)
	}
}

func word(of fieldSchema) string {
	for _, each := range words {
		long := of.MinLength == nil || int64(len(each)) >= *of.MinLength
		fits := of.Pattern == "" || regexp.MustCompile(of.Pattern).MatchString(each)
		if long && fits {
			return each
		}
	}
	return "a"
}

func required(of fieldSchema) map[string]any {
	object := map[string]any{}
	for _, name := range of.Required {
		object[name] = good(of.Properties[name])
	}
	return object
}

// put returns a value of a schema that holds the given value at a path, with all fields that are required on
// the way.
func put(of fieldSchema, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	switch step, rest := path[0], path[1:]; step {
	case "[]":
		return []any{put(*of.Items.Schema, rest, value)}
	case "{}":
		return map[string]any{"a": put(*of.AdditionalProperties.Schema, rest, value)}
	default:
		object := required(of)
		object[step] = put(of.Properties[step], rest, value)
		return object
	}
}

// unruled returns a schema without its CEL rules. A value that it refuses is also refused with them.
func unruled(of fieldSchema) fieldSchema {
	of.XValidations = nil
	for name, child := range of.Properties {
		of.Properties[name] = unruled(child)
	}
	if of.Items != nil {
		*of.Items.Schema = unruled(*of.Items.Schema)
	}
	if of.AdditionalProperties != nil && of.AdditionalProperties.Schema != nil {
		*of.AdditionalProperties.Schema = unruled(*of.AdditionalProperties.Schema)
	}
	return of
}
