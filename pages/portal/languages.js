// The languages that this folder has a catalogue for: <language>.json. A test holds the list and the files together.

export const LANGUAGES = ['en', 'ar', 'es', 'pt', 'ru', 'tr', 'zh'];
