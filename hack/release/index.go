package main

import (
	"encoding/json"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// plainIndex is an index in the bytes in which the library of the OCI writes it. A program that copies it to a registry may
// read it and write it anew, as skopeo does: in other bytes, or with a field that such a program does not know, it would arrive
// under another digest than it has in the archive.
type plainIndex struct{ madeIndex }

// madeIndex is the index as it was made. A field cannot have the name of one of its methods.
type madeIndex = v1.ImageIndex

// RawManifest implements v1.ImageIndex.
func (i plainIndex) RawManifest() ([]byte, error) {
	all, err := i.IndexManifest()
	if err != nil {
		return nil, err
	}
	type descriptor struct {
		MediaType types.MediaType `json:"mediaType"`
		Digest    v1.Hash         `json:"digest"`
		Size      int64           `json:"size"`
		Platform  *v1.Platform    `json:"platform,omitempty"`
	}
	plain := struct {
		SchemaVersion int64           `json:"schemaVersion"`
		MediaType     types.MediaType `json:"mediaType"`
		Manifests     []descriptor    `json:"manifests"`
	}{SchemaVersion: all.SchemaVersion, MediaType: all.MediaType}
	for _, each := range all.Manifests {
		plain.Manifests = append(plain.Manifests, descriptor{each.MediaType, each.Digest, each.Size, each.Platform})
	}
	return json.Marshal(plain)
}

// Digest implements v1.ImageIndex.
func (i plainIndex) Digest() (v1.Hash, error) { return partial.Digest(i) }

// Size implements v1.ImageIndex.
func (i plainIndex) Size() (int64, error) { return partial.Size(i) }
