package storetest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"purser/wallet"
)

// Fill sets every field of the struct that into points to, also in what it holds, to a value that
// is recognisable and its own: texts name their field, numbers count up from first. It tells what
// it set by the path of the field. A field that is added later is filled as well, so that a test
// over all fields cannot forget it.
func Fill(into any, first int64) map[string]any {
	f := filler{number: first, set: map[string]any{}}
	v := reflect.ValueOf(into).Elem()
	f.fill(v, v.Type().Name())
	return f.set
}

type filler struct {
	number int64
	set    map[string]any
}

func (f *filler) next() int64 {
	f.number++
	return f.number
}

func (f *filler) fill(v reflect.Value, path string) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(1_800_000_000+f.next()%1_000_000_000, 987654321).UTC()))
		return
	case json.RawMessage, wallet.Terms:
		v.SetBytes([]byte(fmt.Sprintf(`{"mark":"marked-%s-%d"}`, path, f.next())))
		f.set[path] = string(v.Bytes())
		return
	case wallet.Arg:
		text := fmt.Sprintf("marked-%s-%d", path, f.next())
		v.Set(reflect.ValueOf(wallet.TextArg("Name", text)))
		f.set[path] = text
		return
	case []byte:
		v.SetBytes([]byte(fmt.Sprintf("marked-%s-%d", path, f.next())))
		f.set[path] = string(v.Bytes())
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("marked-%s-%d", path, f.next()))
		f.set[path] = v.String()
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(f.next())
		f.set[path] = v.Int()
	case reflect.Int8:
		v.SetInt(f.next() % 100)
		f.set[path] = v.Int()
	case reflect.Uint8:
		v.SetUint(uint64(f.next() & 0x7f))
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(f.next()))
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(uint64(f.next()&0xff | 1))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			f.fill(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), path)
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	default:
		panic("storetest: Fill does not know " + v.Type().String())
	}
}
