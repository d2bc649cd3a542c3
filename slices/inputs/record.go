package inputs

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// Record is an input of a revision.
type Record struct {
	Kind api.RevisionInputKind `json:"kind"`
	Name string                `json:"name"`
	// Content is the hash of the object's data, or api.InputAbsent.
	Content string `json:"content"`
}

// Ref returns the object that the template names.
func (r Record) Ref() Ref { return Ref{r.Kind, r.Name} }

// Copy returns the name that pods of the revision refer to. It has at most 253 characters. No object has the name of an absent
// input.
func (r Record) Copy() string {
	most := validation.DNS1123SubdomainMaxLength - len(r.Content) - 1
	return strings.TrimRight(r.Name[:min(len(r.Name), most)], "-.") + "-" + r.Content
}

// Resolve returns the inputs of a template with the contents of its objects. A content that was rolled back is replaced.
// missing are the objects that the pods need and that do not exist.
func Resolve(named []Named, contents map[Ref]string) (records []Record, missing []Ref) {
	for _, each := range named {
		content := contents[each.Ref]
		if back := each.rolledBack; back != nil && back.From == content {
			content = back.To
		}
		if content == api.InputAbsent && !each.Optional {
			missing = append(missing, each.Ref)
			continue
		}
		records = append(records, Record{each.Kind, each.Name, content})
	}
	return records, missing
}

// Encode returns records as the value of api.RevisionInputsAnnotationKey, or an empty string if there are none. Equal records
// have equal values, in any order.
func Encode(records []Record) string {
	if len(records) == 0 {
		return ""
	}
	sorted := slices.Clone(records)
	slices.SortFunc(sorted, func(a, b Record) int { return a.Ref().compare(b.Ref()) })
	data, err := json.Marshal(sorted)
	if err != nil {
		return "" // strings always encode
	}
	return string(data)
}

var contents = regexp.MustCompile(`^([0-9a-f]{16}|` + api.InputAbsent + `)$`)

// RecordsOf returns the inputs of a revision.
func RecordsOf(revision *appsv1.ControllerRevision) ([]Record, error) {
	text := revision.Annotations[api.RevisionInputsAnnotationKey]
	if text == "" {
		return nil, nil
	}
	var records []Record
	err := json.Unmarshal([]byte(text), &records)
	for _, r := range records {
		known := r.Kind == api.InputConfigMap || r.Kind == api.InputSecret
		if err == nil && (!known || r.Name == "" || !contents.MatchString(r.Content)) {
			err = fmt.Errorf("it has the input %+v", r)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the annotation %s of ControllerRevision %s/%s: %w; restore the annotation, or delete the revision",
			api.RevisionInputsAnnotationKey, revision.Namespace, revision.Name, err)
	}
	return records, nil
}

// Changed returns the first input in which two revisions differ, or an empty string.
func Changed(from, to []Record) string {
	differ := func(all, others []Record) string {
		for _, record := range all {
			if !slices.Contains(others, record) {
				return "the content of " + record.Ref().String()
			}
		}
		return ""
	}
	if first := differ(to, from); first != "" {
		return first
	}
	return differ(from, to)
}
