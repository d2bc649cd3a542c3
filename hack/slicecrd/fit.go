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

// texts are the types that are written as text, with what their decoders take of it, and how long that is at most.
var texts = map[reflect.Type]struct {
	pattern string
	most    int64
}{
	reflect.TypeFor[metav1.Time]():      {`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`, 40},
	reflect.TypeFor[metav1.MicroTime](): {`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`, 40},
	// Of so many parts with so many digits the sum is no more than a duration holds.
	reflect.TypeFor[metav1.Duration]():   {`^([0-9]{1,5}(\.[0-9]{1,9})?h)?([0-9]{1,7}(\.[0-9]{1,9})?m)?([0-9]{1,9}(\.[0-9]{1,9})?s)?([0-9]{1,12}(\.[0-9]{1,9})?ms)?([0-9]{1,15}(\.[0-9]{1,9})?(us|µs))?([0-9]{1,17}ns)?$|^0$`, 64},
	reflect.TypeFor[resource.Quantity](): {`^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]{1,2}))?$`, 64},
}

// fit has the API server refuse what a type does not decode, wherever a schema is of a field of it.
func fit(schema *apiextensionsv1.JSONSchemaProps, of reflect.Type) {
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
