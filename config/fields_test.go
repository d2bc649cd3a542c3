package config

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// TestNewFieldsAreDocumented: slices.md names each field that apps/v1 does not have.
func TestNewFieldsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/slices.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(regexp.MustCompile("`[^`\n]*`").FindAllString(string(text), -1), " ")
	t.Run("U-10: of the spec and of the status", func(t *testing.T) {
		fields := beyond("", reflect.TypeFor[sliceapi.StatefulSet](), reflect.TypeFor[appsv1.StatefulSet]())
		if len(fields) < 20 {
			t.Fatalf("only %v are new", fields)
		}
		for _, field := range fields {
			if name := field[strings.LastIndex(field, ".")+1:]; !strings.Contains(page, name) {
				t.Errorf("%s is named nowhere", field)
			}
		}
	})
}

// beyond returns the paths of the JSON fields that one type has and the other lacks. It does not descend into a new
// field.
func beyond(path string, ours, theirs reflect.Type) (fields []string) {
	ours, theirs = element(ours), element(theirs)
	if ours == theirs || ours.Kind() != reflect.Struct {
		return nil
	}
	known := map[string]reflect.Type{}
	if theirs.Kind() == reflect.Struct {
		for field := range theirs.Fields() {
			known[jsonName(field)] = field.Type
		}
	}
	for field := range ours.Fields() {
		name := jsonName(field)
		if their, found := known[name]; found {
			fields = append(fields, beyond(path+"."+name, field.Type, their)...)
		} else {
			fields = append(fields, path+"."+name)
		}
	}
	return fields
}

func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}
