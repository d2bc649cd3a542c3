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

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// recorded are the fields of the status that decisions rest on: what they say cannot be found again.
var recorded = []string{"baseline", "fence", "handoff", "ahead", "turnedBack", "automaticRollback", "pace", "pausedWriters", "owedCopies", "hooks", "hookTurns"}

// mostNamed bounds how many fields an error names.
const mostNamed = 4

// NotStoredError is that of a status which was written, or would be, and of which the API server has not stored
// what a decision rests on: its resource definition is older than the writer. Or it was refused as invalid, and nothing of it
// was stored.
type NotStoredError struct {
	// Fields are what is missing or different, the first ones.
	Fields []string
	// Refused is the answer of an API server that has stored nothing; nil: it has stored the rest.
	Refused error
}

// Error implements error.
func (e *NotStoredError) Error() string {
	if e.Refused != nil {
		return e.Refused.Error()
	}
	return "not stored: " + strings.Join(e.Fields, ", ")
}

// Unwrap gives errors.Is and errors.As the answer.
func (e *NotStoredError) Unwrap() error { return e.Refused }

// Save implements Store. What this version does not know stays as it is stored.
func (r Resource) Save(ctx context.Context, m *api.Migration) error {
	answer, err := r.write(ctx, m)
	if answer.ResourceVersion != "" { // it was written, whatever was made of it
		m.ResourceVersion = answer.ResourceVersion
	}
	if err != nil {
		return err
	}
	answer.DeepCopyInto(m)
	return nil
}

// Stores says whether all of the status would be stored, and writes nothing: nil: it would.
func (r Resource) Stores(ctx context.Context, m *api.Migration) error {
	_, err := r.write(ctx, m, client.DryRunAll)
	return err
}

// write sends the status, and compares what comes back. That is read into an object of its own: what an answer
// lacks would else stay as it was sent.
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

// document is a status as it is sent.
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

// whole is a document in which all that its type has and it lacks is null: a merge patch leaves alone what it does
// not name, and is to leave alone what this version cannot name. Lists are replaced as they are.
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

// lost are the fields of what was sent that are not so in what is stored. What is stored besides is no loss: a
// definition may have defaults.
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
