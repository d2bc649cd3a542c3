package dependencies

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Names of the checks that judge what a field says, where an object of that name is not all that matters.
const (
	CheckNodes      = "nodes"
	CheckImages     = "images"
	CheckNodeSetup  = "node setup"
	CheckScheduler  = "schedulers"
	CheckOutside    = "data outside claims"
	CheckClasses    = "storage classes"
	CheckVolumes    = "volumes"
	CheckSinglePods = "volumes of single pods"
	CheckHooks      = "preStop hooks"
	CheckAddresses  = "names of one cluster"
	CheckAdmission  = "admission of pods"
	CheckAccount    = "rights of the account"
	CheckGates      = "feature gates"
)

// Use is what a move does about a field of a pod template, a claim or a volume. The zero Use is for a field that is copied as
// it is and needs nothing at the destination.
type Use struct {
	// Names is the kind of the object that the value names. It is looked for at the destination.
	Names string
	// Judged is the check that judges the value.
	Judged string

	// beside is the field of the same struct, as Go names it, that has the namespace of the object.
	beside string
	// of reads the name from the struct that has the field, where the value alone does not tell it.
	of func(parent reflect.Value) string
}

// line is a use, and the fields of one type that it is for.
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

// uses are those of each field, by its type and its name in JSON: "PodSpec.nodeName".
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

// Judged are the names of all checks that judge fields.
func Judged() []string {
	checks := map[string]bool{}
	for _, use := range uses {
		checks[use.Judged] = true
	}
	delete(checks, "")
	return slices.Sorted(maps.Keys(checks))
}

// field is one field of a struct, with those of the structs that are embedded in it.
type field struct {
	reflect.StructField
	json string
}

// listed are the fields of all types of which pod templates, claims and volumes consist.
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

// listFields are the fields of a type as its JSON has them.
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

// Value is a field of a pod template, a claim or a volume that is set.
type Value struct {
	// Field is its type and name: "Container.image".
	Field string
	// From is where it is, for people: "container web".
	From string
	Use  Use
	// Text is what it says, where it is a text.
	Text string

	parent, value reflect.Value
}

// visit calls for each field that is set and known in the table, with the place where it is.
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

// each is a value, or the elements of a list of which each one names an object.
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

// opaque are structs that stand for one value.
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

// placeOf says for people where an element of a list is.
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
	case "initContainers": // sidecars are among them
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

// reference is the object that a value names; false: it names none.
func (v Value) reference() (ref Reference, names bool) {
	ref = Reference{Kind: v.Use.Names, Name: v.Text, From: v.From, Optional: optional(v.parent)}
	value := reflect.Indirect(v.value)
	switch {
	case ref.Kind == "":
		return ref, false
	case v.Use.of != nil:
		ref.Name = v.Use.of(v.parent)
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

// optional reads whether pods start without what a struct names.
func optional(parent reflect.Value) bool {
	said := parent.FieldByName("Optional")
	return said.IsValid() && !said.IsNil() && said.Elem().Bool()
}
