package shell

import (
	"bytes"
	"encoding/json"
)

// WithCommands returns a value as a JSON object, to which the commands of its remedy are added as the last field.
func WithCommands(value any, remedy string) ([]byte, error) {
	object, err := json.Marshal(value)
	commands := Commands(remedy)
	if err != nil || len(commands) == 0 {
		return object, err
	}
	more, err := json.Marshal(map[string][]string{"commands": commands})
	return append(append(bytes.TrimSuffix(object, []byte("}")), ','), more[1:]...), err
}
