package main

import (
	"strings"
	"testing"
)

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          template:
            description: ours
            type: object
            properties:
              labels: {description: theirs, type: object, additionalProperties: {type: string}}
              names:
                type: array
                maxItems: 3
                x-kubernetes-validations: [{rule: first}]
                items: {description: theirs, type: string}
`

func TestFinish(t *testing.T) {
	finished, err := finish([]byte(definition), []byte(`
foreign: [template]
amend:
- at: ["template.names"]
  add: {minItems: 1, x-kubernetes-validations: [{rule: second}]}
- at: ["template.names[]", "template.labels{}"]
  add: {maxLength: 63}
`))
	if err != nil {
		t.Fatal(err)
	}
	text := string(finished)
	for _, want := range []string{"description: ours", "maxItems: 3", "minItems: 1", "rule: first", "rule: second"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if got := strings.Count(text, "maxLength: 63"); got != 2 {
		t.Errorf("maxLength was added %d times", got)
	}
	for _, unwanted := range []string{"theirs", "status:"} {
		if strings.Contains(text, unwanted) {
			t.Errorf("%q in:\n%s", unwanted, text)
		}
	}
}

// TestFinishReplaces: Replace removes the whole schema, and a later addition is kept.
func TestFinishReplaces(t *testing.T) {
	finished, err := finish([]byte(definition), []byte(`
amend:
- at: ["template.names"]
  replace: {type: array, items: {type: integer}}
  add: {minItems: 1}
`))
	if err != nil {
		t.Fatal(err)
	}
	text := string(finished)
	if strings.Contains(text, "rule: first") || strings.Contains(text, "maxItems") || !strings.Contains(text, "type: integer") || !strings.Contains(text, "minItems: 1") {
		t.Error(text)
	}
}

// TestFinishKnowsItsPlaces: an amendment at a missing place is an error, so that a rename in Kubernetes is noticed.
func TestFinishKnowsItsPlaces(t *testing.T) {
	for path, want := range map[string]string{
		"template.missing": "missing",
		"template.names{}": "{}",
		"template[]":       "[]",
	} {
		_, err := finish([]byte(definition), []byte("amend:\n- at: [\""+path+"\"]\n  add: {maxLength: 1}\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
