package docs

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/sliceshift/sliceshift/config"
)

// TestReferenceAPI: reference-api.md has the description of every field of the resource definitions. With -update it
// writes the page.
func TestReferenceAPI(t *testing.T) {
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(crds) // most readers look for the last definition
	var page strings.Builder
	page.WriteString(referenceAPIIntro)
	for _, crd := range crds {
		referenceOf(&page, crd)
	}
	expectPage(t, "reference-api.md", page.String())
}

// expectPage compares a page with its generated content, or writes it.
func expectPage(t *testing.T, name, page string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if page != read(t, name) {
		t.Errorf("%s is not what the code says: run make generate", name)
	}
}

const referenceAPIIntro = `# API

Every field of the resources: its type, its default, and what an API server refuses. How they are used is told in
[move](move.md), in [evacuate](evacuate.md) and in [slices](slices.md). The page is generated from the resource definitions (` + "`make generate`" + `);
` + "`kubectl explain migration.spec.handoff`" + ` says the same of a cluster in which they are installed.

The version is ` + "`v1alpha1`" + `: fields may change between minor releases. A field in **bold** must be given. A field that has a default
gets it when the object is stored. A rule that binds several fields is in *italics*, in the words in which it is refused.
`

// elsewhere are the fields whose type is a Kubernetes type, which is described there.
var elsewhere = map[string]string{
	"StatefulSet.spec.template":                   "[PodTemplateSpec](https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-template-v1/#PodTemplateSpec)",
	"StatefulSet.spec.volumeClaimTemplates[]":     "[PersistentVolumeClaim](https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/persistent-volume-claim-v1/)",
	"StatefulSet.spec.selector":                   labelSelector,
	"StatefulSet.status.conditions[]":             condition,
	"Migration.spec.gates[].cel.objects.selector": labelSelector,
	"Migration.status.conditions[]":               condition,
	"Evacuation.status.conditions[]":              condition,
}

const (
	labelSelector = "[LabelSelector](https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/label-selector/)"
	condition     = "[Condition](https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties)"
)

func referenceOf(page *strings.Builder, crd *apiextensionsv1.CustomResourceDefinition) {
	names, version := crd.Spec.Names, crd.Spec.Versions[0]
	fmt.Fprintf(page, "\n## %s\n\n`%s/%s`, short name `%s`. %s\n", names.Kind, crd.Spec.Group, version.Name, strings.Join(names.ShortNames, "`, `"), inline(version.Schema.OpenAPIV3Schema.Description))
	if rules := rulesOf(version.Schema.OpenAPIV3Schema); rules != "" {
		fmt.Fprintf(page, "\n%s\n", strings.TrimSpace(rules))
	}
	for _, part := range []string{"spec", "status"} {
		sectionOf(page, names.Kind+"."+part, version.Schema.OpenAPIV3Schema.Properties[part])
	}
}

// sectionOf writes the section of an object: a row for each of its fields, then the sections of those that are
// objects.
func sectionOf(page *strings.Builder, path string, schema apiextensionsv1.JSONSchemaProps) {
	fmt.Fprintf(page, "\n### %s\n\n%s%s\n\n| field | type | default | |\n|---|---|---|---|\n", path, inline(schema.Description), rulesOf(&schema))
	inner := map[string]apiextensionsv1.JSONSchemaProps{}
	fields := slices.Sorted(maps.Keys(schema.Properties))
	for _, name := range fields {
		field := schema.Properties[name]
		shown := "`" + name + "`"
		if slices.Contains(schema.Required, name) {
			shown = "**" + shown + "**"
		}
		text := inline(field.Description)
		below, what := shapeOf(path+"."+name, &field)
		if what != nil {
			inner[below] = *what
		} else {
			text += rulesOf(&field)
		}
		fmt.Fprintf(page, "| %s | %s | %s | %s |\n", shown, typeOf(path+"."+name, &field), defaultOf(&field), cell(text))
	}
	for _, below := range slices.Sorted(maps.Keys(inner)) {
		sectionOf(page, below, inner[below])
	}
}

// shapeOf returns the object that a field holds, with its path, or nil if the page describes none.
func shapeOf(path string, field *apiextensionsv1.JSONSchemaProps) (string, *apiextensionsv1.JSONSchemaProps) {
	if field.Items != nil && field.Items.Schema != nil {
		return shapeOf(path+"[]", field.Items.Schema)
	}
	if elsewhere[path] != "" || len(field.Properties) == 0 {
		return path, nil
	}
	return path, field
}

// typeOf describes the type of a field, with a link if it is an object.
func typeOf(path string, field *apiextensionsv1.JSONSchemaProps) string {
	switch {
	case elsewhere[path] != "":
		return elsewhere[path]
	case field.Items != nil && field.Items.Schema != nil:
		return "list of " + typeOf(path+"[]", field.Items.Schema)
	case field.XIntOrString:
		return "number or string"
	case len(field.Properties) > 0:
		return "[object](#" + anchorOf(path) + ")"
	case field.AdditionalProperties != nil && field.AdditionalProperties.Schema != nil:
		return "map of " + typeOf(path+"{}", field.AdditionalProperties.Schema)
	case field.Format == "date-time":
		return "time"
	case field.Type == "":
		return "any"
	}
	return field.Type
}

func defaultOf(field *apiextensionsv1.JSONSchemaProps) string {
	if field.Default == nil || string(field.Default.Raw) == "{}" {
		return ""
	}
	return "`" + strings.Trim(string(field.Default.Raw), `"`) + "`"
}

// rulesOf describes the refused values, each in a sentence that follows the description.
func rulesOf(field *apiextensionsv1.JSONSchemaProps) string {
	var all []string
	say := func(format string, what ...any) { all = append(all, fmt.Sprintf(format, what...)) }
	if len(field.Enum) > 0 {
		values := make([]string, len(field.Enum))
		for i, value := range field.Enum {
			values[i] = "`" + strings.Trim(string(value.Raw), `"`) + "`"
		}
		say("One of %s.", strings.Join(values, ", "))
	}
	if field.Minimum != nil {
		say("At least %v.", *field.Minimum)
	}
	if field.Maximum != nil {
		say("At most %.0f.", *field.Maximum)
	}
	if field.MinLength != nil && *field.MinLength > 0 {
		say("Not empty.")
	}
	if field.MaxLength != nil {
		say("At most %d characters.", *field.MaxLength)
	}
	if field.MinItems != nil && *field.MinItems > 0 {
		say("At least %d entries.", *field.MinItems)
	}
	if field.MaxItems != nil {
		say("At most %d entries.", *field.MaxItems)
	}
	if field.Pattern != "" {
		say("Matches `%s`.", field.Pattern)
	}
	for _, rule := range field.XValidations {
		say("*%s.*", escaped(strings.TrimSuffix(rule.Message, ".")))
	}
	if len(all) == 0 {
		return ""
	}
	return " " + strings.Join(all, " ")
}

// inline returns a description on one line, for a page.
func inline(text string) string { return escaped(strings.Join(strings.Fields(text), " ")) }

// escaped returns a text in which no character starts a tag or emphasis.
func escaped(text string) string {
	return strings.NewReplacer("<", "&lt;", "*", `\*`, "_", `\_`).Replace(text)
}
