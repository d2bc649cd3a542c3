package main

import (
	"reflect"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	sliceapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// kinds are the types of our resource definitions.
var kinds = map[string]reflect.Type{
	migrationKind: reflect.TypeFor[api.Migration](),
	"StatefulSet": reflect.TypeFor[sliceapi.StatefulSet](),
}

// bounds are the smallest and largest number that a type holds. As JSON schemas know them they are floating-point numbers:
// beyond those of an int64 here they are not exact.
var bounds = map[reflect.Kind][2]float64{
	reflect.Int32: {-1 << 31, 1<<31 - 1},
	reflect.Int64: {-(1<<53 - 1), 1<<53 - 1},
}

// A time in RFC 3339: day is one that its month has, in its year.
const (
	day = `([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))` +
		`|([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)`
	clock = `([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]`
	zone  = `(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])`
)

// texts are the types that are written as text, with what their decoders take of it, and how long that is at most.
var texts = map[reflect.Type]struct {
	pattern string
	most    int64
}{
	reflect.TypeFor[metav1.Time]():      {`^` + day + `T` + clock + `(\.[0-9]{1,9})?` + zone + `$`, 40},
	reflect.TypeFor[metav1.MicroTime](): {`^` + day + `T` + clock + `\.[0-9]{6}` + zone + `$`, 40},
	reflect.TypeFor[[]byte]():           {`^([A-Za-z0-9+/]{4}[\r\n]*)*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?[\r\n]*$`, 1 << 20},
	// Of so many parts with so many digits the sum is no more than a duration holds.
	reflect.TypeFor[metav1.Duration]():   {`^([0-9]{1,5}(\.[0-9]{1,9})?h)?([0-9]{1,7}(\.[0-9]{1,9})?m)?([0-9]{1,9}(\.[0-9]{1,9})?s)?([0-9]{1,12}(\.[0-9]{1,9})?ms)?([0-9]{1,15}(\.[0-9]{1,9})?(us|µs))?([0-9]{1,17}ns)?$|^0$`, 64},
	reflect.TypeFor[resource.Quantity](): {`^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]{1,2}))?$`, 64},
}

// fit has the API server refuse what a type does not decode, wherever a schema is of a field of it. No text keeps a format:
// API servers take any list for a text with one (k8s.io/kube-openapi, pkg/validation/validate/type.go), and a pattern says more.
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

// within leaves what is bounded closer as it is.
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
