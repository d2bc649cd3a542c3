package main

import (
	"reflect"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// kinds holds the types of our resource definitions.
var kinds = map[string]reflect.Type{
	"Migration":   reflect.TypeFor[api.Migration](),
	"Evacuation":  reflect.TypeFor[api.Evacuation](),
	"StatefulSet": reflect.TypeFor[sliceapi.StatefulSet](),
}

// bounds holds the smallest and largest number of a type. JSON schemas use floating-point numbers, so the bounds of
// int64 are the largest integers that these represent exactly.
var bounds = map[reflect.Kind][2]float64{
	reflect.Int32: {-1 << 31, 1<<31 - 1},
	reflect.Int64: {-(1<<53 - 1), 1<<53 - 1},
}

// Patterns for a time in RFC 3339. day matches only days that exist in the month and year.
const (
	day = `([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))` +
		`|([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)`
	clock = `([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]`
	zone  = `(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])`
)

// texts holds the types that are encoded as text, with a pattern that their decoders accept, and the maximal length.
var texts = map[reflect.Type]struct {
	pattern string
	most    int64
}{
	reflect.TypeFor[metav1.Time]():      {`^` + day + `T` + clock + `(\.[0-9]{1,9})?` + zone + `$`, 40},
	reflect.TypeFor[metav1.MicroTime](): {`^` + day + `T` + clock + `\.[0-9]{6}` + zone + `$`, 40},
	reflect.TypeFor[[]byte]():           {`^([A-Za-z0-9+/]{4}[\r\n]*)*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?[\r\n]*$`, 1 << 20},
	// The number of digits is limited so that the sum of the parts does not overflow a duration.
	reflect.TypeFor[metav1.Duration]():   {`^([0-9]{1,5}(\.[0-9]{1,9})?h)?([0-9]{1,7}(\.[0-9]{1,9})?m)?([0-9]{1,9}(\.[0-9]{1,9})?s)?([0-9]{1,12}(\.[0-9]{1,9})?ms)?([0-9]{1,15}(\.[0-9]{1,9})?(us|µs))?([0-9]{1,17}ns)?$|^0$`, 64},
	reflect.TypeFor[resource.Quantity](): {`^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]{1,2}))?$`, 64},
}

// fit makes the API server reject values that a type cannot decode, in the schema of a type and all its fields. It
// removes formats of strings: API servers accept any list for a string with a format (k8s.io/kube-openapi,
// pkg/validation/validate/type.go), and a pattern is stricter.
func fit(schema *apiextensionsv1.JSONSchemaProps, of reflect.Type) {
	if schema.Type == "string" {
		schema.Format = ""
	}
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if text, isText := texts[of]; isText {
		schema.Pattern, schema.MaxLength = text.pattern, least(schema.MaxLength, text.most)
		if of == reflect.TypeFor[metav1.Duration]() {
			schema.MinLength = new(int64(1))
		}
		if of == reflect.TypeFor[resource.Quantity]() {
			within(schema, bounds[reflect.Int64])
		}
		return
	}
	switch {
	case of == reflect.TypeFor[intstr.IntOrString]():
		within(schema, bounds[reflect.Int32])
	case schema.Type == "integer":
		within(schema, bounds[of.Kind()])
	case of.Kind() == reflect.Slice && schema.Items != nil:
		fit(schema.Items.Schema, of.Elem())
	case of.Kind() == reflect.Map && schema.AdditionalProperties != nil:
		fit(schema.AdditionalProperties.Schema, of.Elem())
	case of.Kind() == reflect.Struct:
		for field := range of.Fields() {
			fitField(schema, field)
		}
	}
}

func fitField(schema *apiextensionsv1.JSONSchemaProps, field reflect.StructField) {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	if name == "" && field.Anonymous {
		fit(schema, field.Type)
		return
	}
	if child, found := schema.Properties[name]; found {
		fit(&child, field.Type)
		schema.Properties[name] = child
	}
}

// within sets bounds that the schema does not set itself.
func within(schema *apiextensionsv1.JSONSchemaProps, of [2]float64) {
	if schema.Minimum == nil {
		schema.Minimum = new(of[0])
	}
	if schema.Maximum == nil {
		schema.Maximum = new(of[1])
	}
}

func least(has *int64, most int64) *int64 {
	if has != nil && *has < most {
		return has
	}
	return &most
}
