package printable

import (
	"bytes"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestK6Protobuf: a protobuf answer is escaped, and remains valid protobuf.
func TestK6Protobuf(t *testing.T) {
	sent := &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Code: 403, Reason: metav1.StatusReasonForbidden, Message: hostile,
		Details: &metav1.StatusDetails{Name: hostile, Causes: []metav1.StatusCause{{Message: hostile}}},
	}
	var body bytes.Buffer
	if err := statuses().Encode(sent, &body); err != nil {
		t.Fatal(err)
	}
	object, _, err := statuses().Decode(answer(body.Bytes(), "application/vnd.kubernetes.protobuf"), nil, nil)
	got, is := object.(*metav1.Status)
	if err != nil || !is {
		t.Fatalf("%T, %v", object, err)
	}
	if acts(got.Message) || acts(got.Details.Name) || acts(got.Details.Causes[0].Message) || got.Reason != sent.Reason || got.Code != sent.Code {
		t.Errorf("%+v", got)
	}
	if other := answer([]byte("k8s\x00other"), "application/vnd.kubernetes.protobuf"); string(other) != "k8s\x00other" {
		t.Errorf("%q", other)
	}
}
