package records

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// recorded lists the status fields that decisions depend on and that cannot be derived again.
var recorded = []string{"baseline", "fence", "handoff", "ahead", "turnedBack", "automaticRollback", "pace", "pausedWriters", "owedCopies", "hooks", "hookTurns"}

// mostNamed limits the number of fields in an error.
const mostNamed = 4

// NotStoredError is the error of a status of which the API server does not store fields that decisions depend on, because
// its resource definition is older than the writer. It is also the error of a status that was refused as invalid and not
// stored at all.
type NotStoredError struct {
	// Fields are the first missing or different fields.
	Fields []string
	// Refused is the error of an API server that stored nothing. nil means that it stored the other fields.
	Refused error
}

// Error implements error.
func (e *NotStoredError) Error() string {
	if e.Refused != nil {
		return e.Refused.Error()
	}
	return "not stored: " + strings.Join(e.Fields, ", ")
}

// Unwrap returns the API server's error for errors.Is and errors.As.
func (e *NotStoredError) Unwrap() error { return e.Refused }

// Save implements Store. Stored fields that this version does not know remain.
func (r Resource) Save(ctx context.Context, m *api.Migration) error {
	answer, err := r.write(ctx, m)
	if answer.ResourceVersion != "" { // it was written, possibly without some fields
		m.ResourceVersion = answer.ResourceVersion
	}
	if err != nil {
		return err
	}
	answer.DeepCopyInto(m)
	return nil
}

// Stores implements Store with a dry run.
func (r Resource) Stores(ctx context.Context, m *api.Migration) error {
	_, err := r.write(ctx, m, client.DryRunAll)
	return err
}

// write sends the status and compares the response with it. The response is decoded into a new object, so that a missing
// field does not keep its sent value.
func (r Resource) write(ctx context.Context, m *api.Migration, options ...client.SubResourcePatchOption) (api.Migration, error) {
	sent, err := document(m.Status)
	if err != nil {
		return api.Migration{}, err
	}
	metadata := map[string]any{"resourceVersion": m.ResourceVersion}
	if m.UID != "" {
		metadata["uid"] = m.UID
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata, "status": whole(reflect.TypeFor[api.MigrationStatus](), sent)})
	if err != nil {
		return api.Migration{}, err
	}
	var answer api.Migration
	answer.Namespace, answer.Name = r.Namespace, r.Name
	if err := r.Client.Status().Patch(ctx, &answer, client.RawPatch(types.MergePatchType, patch), options...); err != nil {
		if apierrors.IsInvalid(err) {
			err = &NotStoredError{Fields: []string{"status"}, Refused: err}
		}
		return api.Migration{}, err
	}
	stored, err := document(answer.Status)
	if err != nil {
		return answer, err
	}
	var fields []string
	for _, name := range recorded {
		fields = append(fields, lost("status."+name, sent[name], stored[name])...)
	}
	if len(fields) > 0 {
		return answer, &NotStoredError{Fields: fields[:min(len(fields), mostNamed)]}
	}
	return answer, nil
}

// document returns a status as a JSON document.
func document(status api.MigrationStatus) (map[string]any, error) {
	text, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	var found map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&found)
	return found, err
}

// whole returns a document with null for every known field that it lacks. A merge patch does not change fields that it
// omits, and only fields that are unknown to this version must stay. Lists are replaced as a whole.
func whole(of reflect.Type, document map[string]any) map[string]any {
	all := maps.Clone(document)
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		value, found := all[name]
		below, nested := value.(map[string]any)
		switch {
		case name == "": // inlined
			all = whole(inner, all)
		case !found:
			all[name] = nil
		case nested && inner.Kind() == reflect.Struct:
			all[name] = whole(inner, below)
		}
	}
	return all
}

// lost returns the sent fields that were not stored or were stored differently. Additional stored fields are ignored,
// because a resource definition may have defaults.
func lost(at string, sent, stored any) []string {
	switch sent := sent.(type) {
	case nil:
		return nil
	case map[string]any:
		has, _ := stored.(map[string]any)
		if has == nil {
			return []string{at}
		}
		var fields []string
		for _, name := range slices.Sorted(maps.Keys(sent)) {
			fields = append(fields, lost(at+"."+name, sent[name], has[name])...)
		}
		return fields
	case []any:
		has, _ := stored.([]any)
		if len(has) != len(sent) {
			return []string{at}
		}
		var fields []string
		for i := range sent {
			fields = append(fields, lost(fmt.Sprintf("%s[%d]", at, i), sent[i], has[i])...)
		}
		return fields
	default:
		if sent != stored {
			return []string{at}
		}
		return nil
	}
}
