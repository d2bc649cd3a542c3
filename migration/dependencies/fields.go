package dependencies

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Names of the checks that judge the value of a field, if the existence of an object with that name is not
// sufficient.
const (
	CheckNodes     = "nodes"
	CheckImages    = "images"
	CheckNodeSetup = "node setup"
	CheckScheduler = "schedulers"
	CheckOutside   = "data outside claims"
	CheckClasses   = "storage classes"
	CheckVolumes   = "volumes"
	CheckHooks     = "preStop hooks"
	CheckAddresses = "names of one cluster"
	CheckAdmission = "admission of pods"
	CheckAccount   = "rights of the account"
	CheckGates     = "feature gates"
)

// Use is the treatment of a field of a pod template, a claim or a volume. The zero Use is for a field that is
// copied unchanged and needs nothing at the destination.
type Use struct {
	// Names is the kind of the object that the value names. The object is looked up at the destination.
	Names string
	// Judged is the check that judges the value.
	Judged string

	// beside is the Go name of the field in the same struct that has the namespace of the object.
	beside string
	// of returns the name from the struct that has the field, if the value is not the name itself, and in the
	// namespace, if that is not beside it.
	of, in func(parent reflect.Value) string
}

// line is a use, and the fields of one type to which it applies.
type line struct {
	use    Use
	fields string
}

func same(fields string) line          { return line{fields: fields} }
func names(kind, fields string) line   { return line{Use{Names: kind}, fields} }
func judged(check, fields string) line { return line{Use{Judged: check}, fields} }
func in(namespace, kind, fields string) line {
	return line{Use{Names: kind, beside: namespace}, fields}
}

// uses maps each field, by its type and its name in JSON ("PodSpec.nodeName"), to its use.
var uses = index(podFields, sourceFields, claimFields)

func index(tables ...map[string][]line) map[string]Use {
	all := map[string]Use{}
	for _, table := range tables {
		for of, lines := range table {
			for _, l := range lines {
				for field := range strings.FieldsSeq(l.fields) {
					all[of+"."+field] = l.use
				}
			}
		}
	}
	return all
}

// Judged returns the names of all checks that judge fields.
func Judged() []string {
	checks := map[string]bool{}
	for _, use := range uses {
		checks[use.Judged] = true
	}
	delete(checks, "")
	return slices.Sorted(maps.Keys(checks))
}

// field is one field of a struct, including those of embedded structs.
type field struct {
	reflect.StructField
	json string
}

// listed holds the fields of all types of which pod templates, claims and volumes consist.
var listed = listAll(corev1.PodTemplateSpec{}, corev1.PersistentVolumeClaimSpec{}, corev1.PersistentVolumeSpec{})

func listAll(roots ...any) map[reflect.Type][]field {
	all := map[reflect.Type][]field{}
	var add func(reflect.Type)
	add = func(of reflect.Type) {
		for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, of.Kind()) {
			of = of.Elem()
		}
		if _, known := all[of]; known || of.Kind() != reflect.Struct || opaque(of) {
			return
		}
		all[of] = listFields(of)
		for _, f := range all[of] {
			add(f.Type)
		}
	}
	for _, root := range roots {
		add(reflect.TypeOf(root))
	}
	return all
}

// listFields returns the fields of a type as its JSON has them.
func listFields(of reflect.Type) []field {
	var all []field
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			for _, inner := range listFields(f.Type) {
				inner.Index = append(slices.Clone(f.Index), inner.Index...)
				all = append(all, inner)
			}
			continue
		}
		all = append(all, field{f, name})
	}
	return all
}

// Value is a set field of a pod template, a claim or a volume.
type Value struct {
	// Field is its type and name: "Container.image".
	Field string
	// From is its place in text for the user: "container web".
	From string
	Use  Use
	// Text is the value, if it is a string.
	Text string

	parent, value reflect.Value
}

// visit calls a function for each field that is set and known in the table, with its place.
func visit(of reflect.Value, from string, call func(Value)) {
	for of.Kind() == reflect.Pointer {
		if of.IsNil() {
			return
		}
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || opaque(of.Type()) {
		return
	}
	for _, f := range listed[of.Type()] {
		value := of.FieldByIndex(f.Index)
		if value.IsZero() {
			continue
		}
		at, key := from, of.Type().Name()+"."+f.json
		if at == "" {
			at = f.json
		}
		for _, one := range each(value, uses[key]) {
			call(Value{Field: key, From: at, Use: uses[key], Text: textOf(one), parent: of, value: one})
		}
		inner := from
		if of.Type().Name() == "PodSpec" {
			inner = at
		}
		if value.Kind() != reflect.Slice {
			visit(value, inner, call)
			continue
		}
		for i := range value.Len() {
			visit(value.Index(i), placeOf(f.json, inner, value.Index(i)), call)
		}
	}
}

// each returns the elements of a list whose elements name objects, or else the value itself.
func each(value reflect.Value, use Use) []reflect.Value {
	if use.Names == "" || value.Kind() != reflect.Slice {
		return []reflect.Value{value}
	}
	var all []reflect.Value
	for i := range value.Len() {
		all = append(all, value.Index(i))
	}
	return all
}

// opaque reports whether a struct represents a single value.
func opaque(of reflect.Type) bool {
	return slices.Contains([]string{"Quantity", "Time", "MicroTime", "IntOrString", "FieldsV1"}, of.Name())
}

func textOf(value reflect.Value) string {
	for value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	if value.Kind() != reflect.String {
		return ""
	}
	return value.String()
}

// placeOf returns the place of a list's element in text for the user.
func placeOf(list, from string, element reflect.Value) string {
	name := ""
	if element.Kind() == reflect.Struct {
		if named := element.FieldByName("Name"); named.IsValid() {
			name = textOf(named)
		}
	}
	switch list {
	case "containers":
		return "container " + name
	case "initContainers": // includes sidecars
		return "init container " + name
	case "ephemeralContainers":
		return "ephemeral container " + name
	case "volumes":
		return "volume " + name
	case "resourceClaims":
		return "resource claim " + name
	case "env":
		return fmt.Sprintf("env %s of %s", name, from)
	case "envFrom":
		return "envFrom of " + from
	default:
		return from
	}
}

// reference returns the object that a value names; false if it names none.
func (v Value) reference() (ref Reference, names bool) {
	ref = Reference{Kind: v.Use.Names, Name: v.Text, From: v.From, Optional: optional(v.parent)}
	value := reflect.Indirect(v.value)
	switch {
	case ref.Kind == "":
		return ref, false
	case v.Use.of != nil:
		ref.Name = v.Use.of(v.parent)
		if v.Use.in != nil {
			ref.Namespace = v.Use.in(v.parent)
		}
	case value.Kind() == reflect.Struct: // such as LocalObjectReference and SecretReference
		ref.Name = textOf(value.FieldByName("Name"))
		if namespace := value.FieldByName("Namespace"); namespace.IsValid() {
			ref.Namespace = textOf(namespace)
		}
	}
	if v.Use.beside != "" {
		ref.Namespace = textOf(v.parent.FieldByName(v.Use.beside))
	}
	return ref, ref.Name != ""
}

// optional reports whether pods start without the object that a struct names.
func optional(parent reflect.Value) bool {
	said := parent.FieldByName("Optional")
	return said.IsValid() && !said.IsNil() && said.Elem().Bool()
}
